//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule of family wgmma asks of a target, sentence by sentence.
//
//===----------------------------------------------------------------------===//

#include "ScheduleParser.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tenon;

namespace {
class WgmmaScheduleTest : public testing::Test, protected ScheduleParser {
protected:
  WgmmaScheduleTest() : ScheduleParser("wgmma") {}

  std::string find(StringRef text, StringRef type = "bf16",
                   StringRef target = "sm_90a") {
    return ScheduleParser::find(text, type, target);
  }

  /// A schedule of bf16 with the usual numbers where none are given.
  static std::string write(StringRef tile, StringRef warps,
                           StringRef options = "", int stages = 3) {
    return ("tile = " + tile + "x64, warps = " + warps +
            ", stages = " + Twine(stages) +
            ", swizzle = 128, raster = 16, blocks = 1" + options)
        .str();
  }
};
} // namespace

TEST_F(WgmmaScheduleTest, Runs) {
  for (StringRef tile : {"128x256", "256x128", "256x192", "128x8"})
    for (StringRef type : {"bf16", "f16"})
      EXPECT_EQ(find(write(tile, "8x1"), type), "");
  for (StringRef tile : {"64x8", "64x256", "128x128", "128x192", "64x104"})
    for (StringRef options : {"", ", ping_pong = true", ", stream_k = true",
                              ", cluster = 1x1", ", cluster = 1x2"})
      EXPECT_EQ(find(write(tile, "4x1", options)), "")
          << tile.str() << options.str();
  EXPECT_EQ(find(write("128x256", "8x1", ", cluster = 2x1, stream_k = true")),
            "");
  EXPECT_EQ(find("tile = 128x256x32, warps = 8x1, stages = 2, swizzle = 128, "
                 "raster = 16, blocks = 1",
                 "f32"),
            "");
}

TEST_F(WgmmaScheduleTest, Family) {
  for (StringRef target : {"sm_80", "sm_86", "sm_89", "sm_90"})
    EXPECT_EQ(find(write("128x256", "8x1"), "bf16", target),
              (target + " has no wgmma; take a mma_sync schedule, or compile "
                        "for sm_90a alone")
                  .str());
}

TEST_F(WgmmaScheduleTest, Shape) {
  EXPECT_EQ(find(write("128x256", "8x1"), "f64"),
            "method direct multiplies f16, bf16 and f32 (as tf32), not f64");
  EXPECT_EQ(find(write("128x256", "8x1"), "f32"),
            "K of the tile must be the 32 elements of f32 that swizzle, 128 "
            "bytes, holds, not 64");
  EXPECT_EQ(find("tile = 128x256x32, warps = 8x1, stages = 3, swizzle = 64, "
                 "raster = 16, blocks = 1"),
            "wgmma needs swizzle = 128, not 64");
  EXPECT_EQ(find("tile = 128x256x64, warps = 8x1, stages = 3, swizzle = 128, "
                 "raster = 257, blocks = 1"),
            "raster must be at most 256 row tiles, not 257");
  EXPECT_EQ(find(write("128x256", "8x1", "", /*stages=*/1)),
            "wgmma needs at least 2 stages, not 1");
  EXPECT_EQ(find("tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, "
                 "raster = 16, blocks = 2"),
            "a multiprocessor has one block of a wgmma kernel; write blocks = "
            "1, not 2");
}

TEST_F(WgmmaScheduleTest, Warps) {
  for (StringRef warps : {"2x4", "16x1", "4x2", "1x16", "2x2", "1x1"})
    EXPECT_EQ(find(write("128x256", warps)),
              ("wgmma needs warps = 4x1, one warpgroup a tile, or 8x1, two, "
               "or with swapped operands 1x4 or 1x8, not " +
               warps)
                  .str());
  EXPECT_EQ(find(write("128x128", "8x1", ", ping_pong = true")),
            "with ping_pong each tile has one warpgroup; write warps = 4x1, or "
            "leave out ping_pong");
  EXPECT_EQ(find(write("128x128", "1x8", ", ping_pong = true")),
            "with ping_pong each tile has one warpgroup; write warps = 1x4, or "
            "leave out ping_pong");
}

/// Of swapped operands: a tile's columns are rows of wgmma, and its rows what
/// columns are otherwise.
TEST_F(WgmmaScheduleTest, SwappedOperands) {
  for (StringRef tile : {"8x64", "72x128", "256x64", "104x192"})
    for (StringRef options :
         {"", ", ping_pong = true", ", stream_k = true", ", cluster = 2x1"})
      EXPECT_EQ(find(write(tile, "1x4", options)), "")
          << tile.str() << options.str();
  for (StringRef tile : {"8x128", "256x128", "192x256"})
    EXPECT_EQ(find(write(tile, "1x8", "", /*stages=*/2)), "");
  EXPECT_EQ(find(write("16x128", "1x4", ", cluster = 1x2")), "");
  EXPECT_EQ(find(write("96x128", "1x8", ", method = fp16x3"), "f16"), "");
  EXPECT_EQ(find(write("8x96", "1x4")),
            "N of the tile must be a multiple of 64 up to 192 with 4 warps "
            "along it, not 96");
  EXPECT_EQ(find(write("8x64", "1x8")),
            "N of the tile must be a multiple of 128 up to 256 with 8 warps "
            "along it, not 64");
  for (StringRef m : {"12", "264"})
    EXPECT_EQ(
        find(write((m + "x64").str(), "1x4")),
        ("M of the tile must be a multiple of 8 up to 256, not " + m).str());
  EXPECT_EQ(find(write("256x256", "1x8", "", /*stages=*/2)),
            "a tile of 256x256 gives a thread 256 accumulators, more than the "
            "192 that its registers hold; use a smaller tile");
  EXPECT_EQ(find(write("8x64", "1x4", ", cluster = 1x2")),
            "with cluster = 1x2 M of the tile must be a multiple of 16, half "
            "of its rows of x for each block, not 8; use another M, or "
            "cluster = 2x1");
  for (StringRef reduction : {"two_phase", "resident", "input_moments"})
    EXPECT_EQ(
        find(write("64x128", "1x8", (", reduction = " + reduction).str())), "")
        << reduction.str();
  EXPECT_EQ(
      find(write("72x128", "1x8", ", reduction = two_phase")),
      "with swapped operands and reduction = two_phase M of the tile must "
      "be a multiple of 64, the rows that have moments together, not 72; "
      "use another M");
}

TEST_F(WgmmaScheduleTest, Tile) {
  EXPECT_EQ(find(write("256x128", "4x1")),
            "M of the tile must be a multiple of 64 up to 192 with 4 warps "
            "along it, not 256");
  EXPECT_EQ(find(write("64x128", "8x1")),
            "M of the tile must be a multiple of 128 up to 256 with 8 warps "
            "along it, not 64");
  for (StringRef n : {"100", "264"})
    EXPECT_EQ(
        find(write(("64x" + n).str(), "4x1")),
        ("N of the tile must be a multiple of 8 up to 256, not " + n).str());
  EXPECT_EQ(find(write("128x200", "4x1")),
            "a tile of 128x200 gives a thread 200 accumulators, more than the "
            "192 that its registers hold; use a smaller tile");
  EXPECT_EQ(find(write("256x256", "8x1")),
            "a tile of 256x256 gives a thread 256 accumulators, more than the "
            "192 that its registers hold; use a smaller tile");
  EXPECT_EQ(find(write("128x256", "4x1", ", ping_pong = true")),
            "a tile of 128x256 gives a thread 256 accumulators, more than the "
            "192 that its registers hold; use a smaller tile");
}

/// What methods ask beside.
TEST_F(WgmmaScheduleTest, Method) {
  for (StringRef tile : {"128x192", "128x168", "256x96", "128x8"})
    EXPECT_EQ(find(write(tile, "8x1", ", method = fp16x3"), "f16"), "");
  for (StringRef tile : {"64x192", "128x96", "192x64"})
    EXPECT_EQ(
        find(write(tile, "4x1", ", ping_pong = true, method = fp16x3"), "f16"),
        "");
  for (StringRef tile : {"128x256", "256x128", "256x176"})
    EXPECT_EQ(find(write(tile, "8x1", ", method = fp16"), "f16"), "");
  EXPECT_EQ(find(write("128x200", "8x1", ", method = fp16x3"), "f16"),
            "a tile of 128x200 gives a thread 200 accumulators, two an element "
            "with method fp16x3, more than the 192 that its registers hold; "
            "use a smaller tile");
  EXPECT_EQ(find(write("128x104", "4x1", ", method = fp16x3"), "f16"),
            "a tile of 128x104 gives a thread 208 accumulators, two an element "
            "with method fp16x3, more than the 192 that its registers hold; "
            "use a smaller tile");
  EXPECT_EQ(find(write("128x184", "4x1", ", method = fp16"), "f16"),
            "a tile of 128x184 gives a thread 184 accumulators, more than the "
            "176 that its registers hold; use a smaller tile");
  EXPECT_EQ(find("tile = 128x256x32, warps = 8x1, stages = 2, swizzle = 128, "
                 "raster = 16, blocks = 1, method = fma",
                 "f32"),
            "wgmma has no method fma, which does without tensor cores; write "
            "mma_sync, or method = fp16x3");
}

TEST_F(WgmmaScheduleTest, Accumulators) {
  EXPECT_EQ(getAccumulators(parse(write("128x256", "8x1"))), 128);
  EXPECT_EQ(getAccumulators(parse(write("192x128", "4x1"))), 192);
  EXPECT_EQ(getAccumulators(parse(write("128x128", "8x1", ", weights = 2"))),
            128);
  EXPECT_EQ(
      getAccumulators(parse(write("128x168", "8x1", ", method = fp16x3"))),
      168);
}

TEST_F(WgmmaScheduleTest, Cluster) {
  for (StringRef cluster : {"2x2", "4x1", "1x3", "4611686018427387904x4"})
    EXPECT_EQ(find(write("128x256", "8x1", (", cluster = " + cluster).str())),
              ("cluster must be 1x1, 2x1 or 1x2, not " + cluster).str());
  EXPECT_EQ(find(write("128x104", "8x1", ", cluster = 2x1")),
            "with cluster = 2x1 N of the tile must be a multiple of 16, half "
            "of its rows of w for each block, not 104; use another N, or "
            "cluster = 1x2");
}

TEST_F(WgmmaScheduleTest, SharedMemory) {
  EXPECT_EQ(find(write("128x256", "8x1", "", /*stages=*/4)), "");
  EXPECT_EQ(find(write("128x256", "8x1", "", /*stages=*/5)),
            "5 stages of 49152 bytes do not fit the 197888 bytes of shared "
            "memory that sm_90a leaves them; use fewer stages or a smaller "
            "tile");
}

/// Numbers whose products do not fit an i64.
TEST_F(WgmmaScheduleTest, HugeNumbers) {
  const std::string huge = "4611686018427387904";
  for (std::string text :
       {write(huge + "x" + huge, "8x1"), write("128x256", huge + "x" + huge),
        "tile = 128x256x64, warps = 8x1, stages = " + huge +
            ", swizzle = 128, raster = 16, blocks = 1",
        "tile = 128x256x64, warps = 8x1, stages = 3, swizzle = 128, raster = "
        "16, blocks = " +
            huge})
    EXPECT_NE(find(text), "") << text;
}

/// A row of K must be a multiple of 16 bytes.
TEST_F(WgmmaScheduleTest, Extent) {
  Type bf16 = BFloat16Type::get(&context), f32 = Float32Type::get(&context);
  EXPECT_EQ(findExtentProblem(KernelFamily::Wgmma, bf16, 1000), "");
  EXPECT_EQ(findExtentProblem(KernelFamily::Wgmma, f32, 1004), "");
  EXPECT_EQ(findExtentProblem(KernelFamily::Wgmma, bf16, 1004),
            "TMA copies rows of multiples of 16 bytes, but K = 1004 of bf16 "
            "has 2008; pad K to 1008");
  EXPECT_EQ(findExtentProblem(KernelFamily::Wgmma, f32, 1001),
            "TMA copies rows of multiples of 16 bytes, but K = 1001 of f32 has "
            "4004; pad K to 1004");
  EXPECT_EQ(findExtentProblem(KernelFamily::MmaSync, bf16, 1001), "");
}

TEST_F(WgmmaScheduleTest, Bytes) {
  ScheduleAttr cooperative = parse(write("128x256", "8x1"));
  EXPECT_EQ(getConsumerWarpgroups(cooperative), 2);
  EXPECT_EQ(getBlockThreads(cooperative), 384);
  EXPECT_EQ(getSharedBytes(cooperative),
            3 * 384 * 128 + 2 * kWarpgroupEpilogueBytes +
                12 * kScalarBytesPerWarp + kBarrierBytes);
  EXPECT_EQ(getWorkspaceBytes(cooperative), 0);

  ScheduleAttr single = parse(write("128x128", "4x1"));
  EXPECT_EQ(getBlockThreads(single), 256);
  EXPECT_EQ(getSharedBytes(single), 3 * 256 * 128 + kWarpgroupEpilogueBytes +
                                        8 * kScalarBytesPerWarp +
                                        kBarrierBytes);

  ScheduleAttr pingPong = parse(write(
      "64x256", "4x1", ", stream_k = true, cluster = 2x1, ping_pong = true"));
  EXPECT_EQ(getConsumerWarpgroups(pingPong), 2);
  EXPECT_EQ(getBlockThreads(pingPong), 384);
  EXPECT_EQ(getMaxBlocks(pingPong), kMaxMultiprocessors);
  EXPECT_EQ(getWorkspaceBytes(pingPong),
            kMaxMultiprocessors * (8 + 64 * 256 * 4));
}

TEST_F(WgmmaScheduleTest, Resident) {
  const std::string resident = ", reduction = resident";
  EXPECT_EQ(find(write("128x256", "8x1", ", cluster = 2x1" + resident, 4)), "");
  EXPECT_EQ(find(write("256x128", "8x1", resident)), "");
  EXPECT_EQ(find(write("64x32", "4x1", ", ping_pong = true" + resident)),
            "with reduction = resident all tiles of a column wait for each "
            "other, so ping_pong cannot be; leave it out");
  EXPECT_EQ(find(write("64x32", "4x1", ", stream_k = true" + resident)),
            "with reduction = resident all tiles of a column wait for each "
            "other, so stream_k cannot be; leave it out");
  EXPECT_EQ(find(write("64x32", "4x1", ", method = fp16x3" + resident), "f16"),
            "with reduction = resident there is no method fp16x3; leave it "
            "out, or write reduction = two_phase");
  EXPECT_EQ(find(write("64x48", "4x1", resident)),
            "with reduction = resident N of the tile must be a multiple of 32, "
            "not 48");
  EXPECT_EQ(find(write("256x192", "8x1", resident)),
            "a tile of 256x192 gives a thread 192 accumulators, more than the "
            "176 that its registers hold; use a smaller tile");
}

/// Beside its accumulators a thread has registers for half as many of another
/// tile.
TEST_F(WgmmaScheduleTest, Defer) {
  const std::string defer = ", defer = true";
  for (StringRef tile : {"8x64", "256x64", "128x128", "80x192"})
    for (StringRef options :
         {"", ", cluster = 2x1", ", method = fp16", ", reduction = resident"})
      EXPECT_EQ(find(write(tile, "1x4", (options + defer).str()), "f16"), "")
          << tile.str() << options.str();
  EXPECT_EQ(find(write("256x128", "1x8", ", cluster = 1x2" + defer, 4)), "");
  EXPECT_EQ(find(write("128x128", "4x1", defer)),
            "defer needs operands swapped; write warps = 1x4, or leave out "
            "defer");
  EXPECT_EQ(find(write("128x256", "8x1", ", reduction = resident" + defer)),
            "defer needs operands swapped; write warps = 1x8, or leave out "
            "defer");
  EXPECT_EQ(find(write("128x128", "1x4", ", ping_pong = true" + defer)),
            "with defer the next tile's products hide what ping_pong does too; "
            "leave out one of them");
  EXPECT_EQ(find(write("128x128", "1x4", ", stream_k = true" + defer)),
            "with defer the next tile's products hide what stream_k does too; "
            "leave out one of them");
  // Few enough accumulators, even with the sums.
  EXPECT_EQ(find(write("32x128", "1x8", ", method = fp16x3" + defer), "f16"),
            "with method = fp16x3 sums have the registers that defer needs; "
            "leave out defer");
  for (StringRef options : {"", ", reduction = resident"})
    EXPECT_EQ(find(write("136x128", "1x4", (options + defer).str())),
              "with defer a thread has 128 accumulators at most, not the 136 "
              "of a tile of 136x128; use a smaller tile");
  EXPECT_EQ(find(write("192x256", "1x8", defer)),
            "with defer a thread has 128 accumulators at most, not the 192 of "
            "a tile of 192x256; use a smaller tile");
  // What a cluster asks is asked all the same.
  EXPECT_EQ(find(write("8x64", "1x4", ", cluster = 1x2" + defer)),
            "with cluster = 1x2 M of the tile must be a multiple of 16, half "
            "of its rows of x for each block, not 8; use another M, or "
            "cluster = 2x1");
}

/// A finisher publishes as much as blocks exchange, and has a barrier of 8
/// bytes; the table begins at a multiple of 16. Nothing else needs room.
TEST_F(WgmmaScheduleTest, DeferBytes) {
  ScheduleAttr plain = parse(write("256x128", "1x8"));
  ScheduleAttr deferred = parse(write("256x128", "1x8", ", defer = true"));
  EXPECT_EQ(getConsumerWarpgroups(deferred), 2);
  EXPECT_EQ(getAccumulators(deferred), 128);
  EXPECT_EQ(getBarrierBytes(deferred), kBarrierBytes);
  EXPECT_EQ(getSharedBytes(deferred), getSharedBytes(plain));
  EXPECT_EQ(getWorkspaceBytes(deferred), 0);

  ScheduleAttr alone =
      parse(write("256x128", "1x8", ", reduction = resident", 4));
  ScheduleAttr resident =
      parse(write("256x128", "1x8", ", defer = true, reduction = resident", 4));
  EXPECT_EQ(getBarrierBytes(alone), 4 * 16 + 2 * 64);
  EXPECT_EQ(getBarrierBytes(resident), 4 * 16 + 2 * 64 + 16);
  EXPECT_EQ(getSharedBytes(resident), getSharedBytes(alone) + 16);
  EXPECT_EQ(getSharedBytes(resident),
            4 * 384 * 128 + 2 * kWarpgroupEpilogueBytes +
                12 * kScalarBytesPerWarp + 208 + 128 * kFinishedBytesPerColumn);
  EXPECT_LE(getSharedBytes(resident),
            lookupTarget("sm_90a")->sharedBytesPerBlock);
  EXPECT_EQ(getWorkspaceBytes(alone), kMaxMultiprocessors * (8 + 2 * 128 * 16));
  EXPECT_EQ(getWorkspaceBytes(resident),
            kMaxMultiprocessors * (8 + 4 * 128 * 16));
}

/// The table of columns takes the room that barriers leave.
TEST_F(WgmmaScheduleTest, ResidentBytes) {
  ScheduleAttr four =
      parse(write("128x256", "8x1", ", reduction = resident", 4));
  EXPECT_EQ(getBarrierBytes(four), 4 * 16 + 2 * 64);
  EXPECT_EQ(getSharedBytes(four), 4 * 384 * 128 + 2 * kWarpgroupEpilogueBytes +
                                      12 * kScalarBytesPerWarp +
                                      getBarrierBytes(four) + 256 * 8);
  EXPECT_LE(getSharedBytes(four), lookupTarget("sm_90a")->sharedBytesPerBlock);
  EXPECT_EQ(getWorkspaceBytes(four), kMaxMultiprocessors * (8 + 2 * 256 * 16));
}

/// The epilogue of a warpgroup gives way to a stage, with ping-pong alone.
TEST_F(WgmmaScheduleTest, PingPongEpilogue) {
  const int64_t others = 12 * kScalarBytesPerWarp + kBarrierBytes;
  for (StringRef tile : {"192x128", "128x192"}) {
    ScheduleAttr four = parse(write(tile, "4x1", ", ping_pong = true", 4));
    EXPECT_EQ(getWarpgroupEpilogueBytes(four), 16384);
    EXPECT_EQ(getSharedBytes(four), 4 * 320 * 128 + 2 * 16384 + others);

    std::string text = write(tile, "4x1", ", ping_pong = true", 5);
    EXPECT_EQ(getWarpgroupEpilogueBytes(parse(text)), 12288);
    EXPECT_EQ(getSharedBytes(parse(text)), 5 * 320 * 128 + 2 * 12288 + others);
    EXPECT_EQ(find(text), "");
  }
  EXPECT_NE(find(write("192x128", "4x1", ", ping_pong = true", 6)), "");
  // With sums over the batch, often of several operands, more of what is left.
  for (auto [stages, bytes] : {std::pair(6, 16384), std::pair(5, 32768)}) {
    std::string text = write(
        "128x128", "1x4", ", ping_pong = true, reduction = two_phase", stages);
    EXPECT_EQ(getWarpgroupEpilogueBytes(parse(text)), bytes);
    EXPECT_EQ(find(text), "");
  }
  // Two warpgroups of one tile keep theirs, and have no fifth stage.
  EXPECT_EQ(getWarpgroupEpilogueBytes(parse(write("128x192", "8x1", "", 5))),
            16384);
  EXPECT_NE(find(write("128x192", "8x1", "", 5)), "");
}
