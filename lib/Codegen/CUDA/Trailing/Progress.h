//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a product's kernel tells the kernel that follows it beside it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TRAILING_PROGRESS_H
#define TENON_LIB_CODEGEN_CUDA_TRAILING_PROGRESS_H

#include "../KernelBuilder.h"
#include "../Tiled/TileGeometry.h"

namespace mlir::tenon {

/// The layout of the workspace, of i32 words: the ticket; from word 32 on, a
/// counter for each span of columns; then a flag for each panel and each block
/// of `kFlagRows` rows, panel by panel.
///
/// A panel is the columns of a tile of the product, a span those that a warp of
/// the finishing kernel normalises together.
struct ProgressLayout {
  static constexpr int64_t kFlagRows = 64;
  /// The narrowest span.
  static constexpr int64_t kMinSpanColumns = 128;

  int64_t n;
  int64_t panelColumns; ///< a tile's
  int64_t unitColumns;  ///< of tiles that are taken together
  int64_t unitRows;
  int64_t groupColumns;    ///< that are complete at about the same time
  int64_t spanColumns = 0; ///< for the finishing kernel to set

  /// That of a product with these tiles.
  static ProgressLayout get(const TileGeometry &geometry) {
    return {geometry.n, geometry.tileN, geometry.unitN(), geometry.unitM(),
            geometry.unitN() * geometry.schedule.getRaster()};
  }

  int64_t numPanels() const {
    return llvm::divideCeil(n, unitColumns) * unitColumns / panelColumns;
  }
  int64_t numSpans() const { return llvm::divideCeil(n, spanColumns); }
  /// Spans of a group, of which the last may have fewer.
  int64_t groupSpans() const {
    return std::clamp<int64_t>(groupColumns / spanColumns, 1, numSpans());
  }
  /// The first flag's word.
  int64_t firstFlag() const {
    return 32 + llvm::alignTo(llvm::divideCeil(n, kMinSpanColumns), 32);
  }

  /// Flags of a panel, a multiple of 8: of all row blocks, and of those beyond
  /// M that tiles have. `m` is an i32 or an i64.
  Value emitFlagsPerPanel(ImplicitLocOpBuilder &b, Value m) const;
  /// Bytes of the workspace, for an `m` of i64.
  Value emitBytes(ImplicitLocOpBuilder &b, Value m) const;
};

/// Emits what both kernels do with the workspace. Numbers are i32.
///
/// Each block of the product clears its own flags, block 0 the rest, and then
/// lets the finishing kernel start, which can when all blocks have: no launch
/// finds what an earlier one left.
class Progress {
public:
  Progress(KernelBuilder &b, Value workspace, const ProgressLayout &layout,
           Value m)
      : b(b), workspace(workspace), layout(layout), m(m) {}

  // The product's kernel.
  /// Clears ticket and counters: thread `thread` of `threads` does its part.
  void clearCounters(Value thread, int64_t threads);
  /// The number of the flag for these places in [M, N].
  Value getFlagNumber(Value row, Value column);
  /// Clears `count` flags from `number` on; one thread does.
  void clearFlags(Value number, int64_t count);
  /// Says that what the thread has seen written is there; one thread does.
  void setFlags(Value number, int64_t count);

  // The finishing kernel.
  /// The next ticket, the same in all lanes.
  Value takeTicket(Value lane);
  /// Waits until all rows of a panel are in memory. The warp's lanes call it
  /// together, and may then read them.
  void waitForPanel(Value panel, Value lane);
  /// What the warp has stored for `span` may be read by who sees the counter.
  void addToCounter(Value span, Value lane);
  /// Waits until the span's counter is `count`; as waitForPanel.
  void waitForCounter(Value span, Value count);

private:
  Value getWord(Value number);
  Value getFlag(Value panel, Value block);
  void storeFlags(Value number, int64_t count, int64_t value);
  void poll(llvm::function_ref<Value()> isMissing);
  Value findMissing(Value panel, Value first, Value end);

  KernelBuilder &b;
  Value workspace;
  ProgressLayout layout;
  Value m;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TRAILING_PROGRESS_H
