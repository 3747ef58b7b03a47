//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule of family mma_sync asks of a target, sentence by sentence.
//
//===----------------------------------------------------------------------===//

#include "ScheduleParser.h"

#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tenon;

namespace {
class ScheduleTest : public testing::Test, protected ScheduleParser {
protected:
  ScheduleTest() : ScheduleParser("mma_sync") {}

  std::string find(StringRef text, StringRef type = "bf16",
                   StringRef target = "sm_80") {
    return ScheduleParser::find(text, type, target);
  }
};

/// The largest tile, for each width of elements.
constexpr const char *k16Bits = "tile = 128x256x64, warps = 2x4, stages = 3, "
                                "swizzle = 128, raster = 8, blocks = 1";
constexpr const char *kTf32 = "tile = 256x128x32, warps = 4x2, stages = 3, "
                              "swizzle = 128, raster = 8, blocks = 1";
} // namespace

TEST_F(ScheduleTest, Runs) {
  for (StringRef target : {"sm_80", "sm_90", "sm_90a"}) {
    EXPECT_EQ(find(k16Bits, "bf16", target), "");
    EXPECT_EQ(find(k16Bits, "f16", target), "");
    EXPECT_EQ(find(kTf32, "f32", target), "");
  }
  for (StringRef target : {"sm_86", "sm_89"})
    EXPECT_EQ(find("tile = 128x256x32, warps = 2x4, stages = 3, swizzle = 64, "
                   "raster = 8, blocks = 1",
                   "f16", target),
              "");
}

TEST_F(ScheduleTest, Family) {
  TargetSpec spec = *lookupTarget("sm_80");
  spec.hasMmaSync = false;
  EXPECT_EQ(findProblem(parse(k16Bits), Float16Type::get(&context), spec),
            "sm_80 has no mma.sync");
  StringRef ofBytes = "tile = 64x128x128, warps = 2x4, stages = 3, swizzle = "
                      "128, raster = 8, blocks = 1, method = fp8";
  EXPECT_EQ(find(ofBytes, "f8E4M3FN", "sm_89"), "");
  EXPECT_EQ(find(ofBytes, "f8E4M3FN", "sm_80"),
            "mma_sync multiplies 8 bits on sm_89 alone, not on sm_80; leave "
            "out the schedule");
}

TEST_F(ScheduleTest, Shape) {
  EXPECT_EQ(find(k16Bits, "f64"),
            "method direct multiplies f16, bf16 and f32 (as tf32), not f64");
  EXPECT_EQ(find("tile = 128x256x16, warps = 2x4, stages = 3, swizzle = 32, "
                 "raster = 8, blocks = 1"),
            "swizzle must be 64 or 128 bytes, not 32");
  EXPECT_EQ(find(k16Bits, "f32"),
            "K of the tile must be the 32 elements of f32 that swizzle, 128 "
            "bytes, holds, not 64");
  EXPECT_EQ(find("tile = 128x128x64, warps = 2x4, stages = 2, swizzle = 128, "
                 "raster = 8, blocks = 1"),
            "mma_sync needs at least 3 stages, not 2");
}

TEST_F(ScheduleTest, OptionsOfWgmma) {
  for (StringRef option : {"cluster = 2x1", "ping_pong = true", "defer = true"})
    EXPECT_EQ(find((Twine(k16Bits) + ", " + option).str()),
              "mma_sync has no cluster, ping_pong or defer; leave them out");
  for (StringRef option :
       {"cluster = 1x1", "ping_pong = false", "defer = false"})
    EXPECT_EQ(find((Twine(k16Bits) + ", " + option).str()), "");
}

TEST_F(ScheduleTest, Resident) {
  std::string schedule = "tile = 64x256x64, warps = 2x2, stages = 3, swizzle = "
                         "128, raster = 8, blocks = ";
  EXPECT_EQ(find(schedule + "1, reduction = resident"), "");
  EXPECT_EQ(find(schedule + "2, reduction = resident"),
            "with reduction = resident a multiprocessor has one block; write "
            "blocks = 1, not 2");
  EXPECT_EQ(find(schedule + "1, stream_k = true, reduction = resident"),
            "with reduction = resident all tiles of a column wait for each "
            "other, so stream_k cannot be; leave it out");
  EXPECT_EQ(find("tile = 16x512x64, warps = 1x2, stages = 3, swizzle = 128, "
                 "raster = 8, blocks = 1, reduction = resident",
                 "bf16", "sm_90"),
            "with reduction = resident a warp's part of the tile has at most "
            "128 columns, not 256; use more warps along N");
}

TEST_F(ScheduleTest, Warps) {
  EXPECT_EQ(find("tile = 512x512x64, warps = 8x8, stages = 3, swizzle = 128, "
                 "raster = 8, blocks = 1"),
            "a block has at most 32 warps, not 8x8");
  // 40 is a multiple of neither 3 nor, for each of 2 warps, of 16.
  for (const char *warps : {"3x2", "2x2"})
    EXPECT_EQ(find((Twine("tile = 40x64x64, warps = ") + warps +
                    ", stages = 3, swizzle = 128, raster = 8, blocks = 1")
                       .str()),
              std::string("M of the tile, 40, must be a multiple of 16 for "
                          "each of the ") +
                  warps[0] + " warps along it");
  EXPECT_EQ(find("tile = 64x48x64, warps = 1x2, stages = 3, swizzle = 128, "
                 "raster = 8, blocks = 1"),
            "N of the tile, 48, must be a multiple of 32 for each of the 2 "
            "warps along it");
  EXPECT_EQ(
      find("tile = 128x256x64, warps = 2x2, stages = 3, swizzle = 128, "
           "raster = 8, blocks = 1"),
      "a warp's part of the tile, 64x128, has more than the 4096 elements "
      "that fit its registers; use more warps or a smaller tile");
}

/// Those with two sums for each element: products of one K tile, and all.
TEST_F(ScheduleTest, Methods) {
  const char *halves = "tile = 128x128x64, warps = 2x4, stages = 3, swizzle = "
                       "128, raster = 8, blocks = 1, method = fp16x3";
  const char *fma = "tile = 128x128x32, warps = 2x4, stages = 3, swizzle = "
                    "128, raster = 8, blocks = 1, method = fma";
  for (StringRef target : {"sm_80", "sm_90a"}) {
    EXPECT_EQ(find(halves, "f16", target), "");
    EXPECT_EQ(find(fma, "f32", target), "");
  }
  EXPECT_EQ(find((Twine(k16Bits) + ", method = fp16").str(), "f16"), "");
  for (std::string method : {"fp16x3", "fma"}) {
    int64_t k = method == "fma" ? 32 : 64;
    auto findIn = [&](int64_t tileK, StringRef warps, StringRef swizzle) {
      return find(("tile = 128x128x" + Twine(tileK) + ", warps = " + warps +
                   ", stages = 3, swizzle = " + swizzle +
                   ", raster = 8, blocks = 1, method = " + method)
                      .str(),
                  method == "fma" ? "f32" : "f16");
    };
    EXPECT_EQ(findIn(k / 2, "2x4", "64"),
              "method " + method + " needs swizzle = 128, not 64");
    EXPECT_EQ(findIn(k, "2x2", "128"),
              "a warp's part of the tile, 64x64, has more than the 2048 "
              "elements that fit its registers with method " +
                  method + "; use more warps or a smaller tile");
    EXPECT_EQ(findIn(k, "4x4", "128"),
              "a thread needs about 164 registers, but 512 threads leave it "
              "128 on sm_80; use fewer warps or blocks, or a smaller tile");
  }
}

TEST_F(ScheduleTest, Raster) {
  EXPECT_EQ(find("tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, "
                 "raster = 4294967296, blocks = 1"),
            "raster must be at most 256 row tiles, not 4294967296");
}

TEST_F(ScheduleTest, Copies) {
  EXPECT_EQ(find("tile = 64x64x64, warps = 1x1, stages = 3, swizzle = 128, "
                 "raster = 8, blocks = 1"),
            "32 threads copy 4 rows at a time, which must be a multiple of 8; "
            "use an even number of warps");
  EXPECT_EQ(find("tile = 96x96x64, warps = 3x1, stages = 3, swizzle = 128, "
                 "raster = 8, blocks = 1"),
            "96 threads copy 12 rows at a time, which must be a multiple of 8; "
            "use an even number of warps");
  EXPECT_EQ(find("tile = 16x256x64, warps = 1x8, stages = 3, swizzle = 128, "
                 "raster = 8, blocks = 1"),
            "256 threads copy 32 rows at a time, of which M of the tile, 16, "
            "must be a multiple; use fewer warps or a larger tile");
  EXPECT_EQ(find("tile = 128x32x32, warps = 8x1, stages = 3, swizzle = 64, "
                 "raster = 8, blocks = 1"),
            "256 threads copy 64 rows at a time, of which N of the tile, 32, "
            "must be a multiple; use fewer warps or a larger tile");
}

TEST_F(ScheduleTest, Resources) {
  int64_t stages = 3 * 384 * 128;
  int64_t left = lookupTarget("sm_86")->sharedBytesPerBlock -
                 (getSharedBytes(parse(k16Bits)) - stages);
  EXPECT_EQ(find(k16Bits, "f16", "sm_86"),
            "3 stages of 49152 bytes do not fit the " + std::to_string(left) +
                " bytes of shared memory that sm_86 leaves them; use fewer "
                "stages or a smaller tile");
  const char *twoBlocks = "tile = 128x128x64, warps = 2x4, stages = 3, swizzle "
                          "= 128, raster = 8, blocks = 2";
  int64_t bytes = getSharedBytes(parse(twoBlocks)) + kReservedSharedBytes;
  EXPECT_EQ(find(twoBlocks),
            "2 blocks of " + std::to_string(bytes) +
                " bytes of shared memory do not fit the 167936 of a "
                "multiprocessor of sm_80; use fewer blocks");
  EXPECT_EQ(find("tile = 128x256x32, warps = 4x4, stages = 3, swizzle = 64, "
                 "raster = 8, blocks = 1"),
            "a thread needs about 164 registers, but 512 threads leave it 128 "
            "on sm_80; use fewer warps or blocks, or a smaller tile");
}

/// Numbers whose products do not fit an i64.
TEST_F(ScheduleTest, HugeNumbers) {
  const std::string huge = "4611686018427387904";
  for (std::string text :
       {"tile = " + huge + "x" + huge + "x64, warps = 2x4, stages = 3, " +
            "swizzle = 128, raster = 8, blocks = 1",
        "tile = 128x128x64, warps = " + huge + "x" + huge + ", stages = 3, " +
            "swizzle = 128, raster = 8, blocks = 1",
        "tile = 128x128x64, warps = 2x4, stages = " + huge +
            ", swizzle = 128, raster = 8, blocks = 1",
        "tile = 128x128x64, warps = 2x4, stages = 3, swizzle = 128, raster = "
        "8, blocks = " +
            huge})
    EXPECT_NE(find(text), "") << text;
}

TEST_F(ScheduleTest, Bytes) {
  ScheduleAttr plain = parse(k16Bits);
  EXPECT_EQ(getSharedBytes(plain) - 3 * 384 * 128,
            8 * (kStagingBytesPerWarp + kScalarBytesPerWarp));
  EXPECT_EQ(getBlockThreads(plain), 256);
  EXPECT_EQ(getWorkspaceBytes(plain), 0);
  ScheduleAttr streamK = parse((Twine(k16Bits) + ", stream_k = true").str());
  EXPECT_EQ(getWorkspaceBytes(streamK),
            getMaxBlocks(streamK) * (8 + 128 * 256 * 4));
  ScheduleAttr resident =
      parse((Twine(k16Bits) + ", reduction = resident").str());
  EXPECT_EQ(getSharedBytes(resident) - getSharedBytes(plain),
            256 * kFinishedBytesPerColumn);
  EXPECT_EQ(getWorkspaceBytes(resident),
            getMaxBlocks(resident) * (8 + 2 * 256 * kTaggedStateBytes));
  // The kernel for unaligned pointers has tiles of 64 columns.
  EXPECT_EQ(getWorkspaceBytes(parse("tile = 64x32x64, warps = 2x1, stages = 3, "
                                    "swizzle = 128, raster = 8, blocks = 1, "
                                    "reduction = resident")),
            getMaxBlocks(resident) * (8 + 2 * 64 * kTaggedStateBytes));
}
