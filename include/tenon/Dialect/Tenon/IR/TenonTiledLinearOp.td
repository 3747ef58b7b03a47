//===- TenonTiledLinearOp.td - A layer as one kernel -------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONTILEDLINEAROP_TD
#define TENON_DIALECT_TENON_IR_TENONTILEDLINEAROP_TD

include "tenon/Dialect/Tenon/IR/TenonEpilogueOp.td"

def Tenon_Workspace : AnyTypeOf<[1DTensorOf<[I8]>, MemRefRankOf<[I8], [1]>]>;

def Tenon_TiledLinearOp : Op<Tenon_Dialect, "tiled_linear", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    SingleBlockImplicitTerminator<"::mlir::tenon::YieldOp">,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A linear layer and its epilogue as one tiled kernel";
  let description = [{
    A linear layer whose strategy is `tiled`, with x, w and the epilogue's operands
    in memory and its results written to `outs`. The region's first argument is the
    product `x w^T`, accumulated in f32; the others stand for the inputs, and are
    tensors also where these are memrefs; it yields one value for each output.
    16-bit values inside it, the product included, stay in f32. Operands of f32 are
    multiplied as tf32. A schedule of family `wgmma` rounds them to it as it copies
    them; for one of family `mma_sync` they are expected to be rounded
    (`tenon.round_tf32`): of others the kernel drops the lower bits. With method
    `fma` no tensor core is used, and nothing is rounded.

    With a method that splits x and w are the halves of f32 matrices that
    `tenon.split` gave, in one part or two, and `factors` theirs: products are
    multiplied by w's factor, then by x's, and are as precise as tf32 or fp32. That
    does not hold of *rows outside*: where a factor is negative, or one of w is below
    2^-101 or above 2^72, with which the first multiplication need not be exact. With
    another method `factors` say what is left to do: the outputs hold results
    already, and tiles that have none of these rows are kept as they are. They may
    then be those of another product's w too.

    With method `fp8` factors are scales, of each 1x128 of x and of each 128x128 of
    w: a sum of 128 of K is multiplied by both as it is added up. Those of x may be
    one vector, column by column.

    `layout` is that of `tenon.linear`. Halves are of `mk_nk`; other layouts are for
    f32 in schedules of family `mma_sync`, whose kernels turn tiles as they copy them,
    and for 16 bits, which kernels of family `wgmma` multiply as they lie.

    The schedule says how the kernel divides the product. With `stream_k`, blocks
    that share a tile hand partial sums over in the workspace, scratch that all
    layers of a function may share; Schedule/Checks/Schedule.h has its size. An input
    `[M, N]` may be the buffer of an output; x, w and all other inputs may not.

    With `reduction = two_phase` the region may also yield the `tenon.moments` of
    what it computes, of each 64 rows (wgmma) or row tile (mma_sync). With `reduction = resident` it may hold one
    training batch norm: all tiles of a column are at work together, exchange
    moments in the workspace, and finish what they have in registers. Where M is
    dynamic, a call whose tiles do not fit the GPU is computed as with `two_phase`.
    There a tile depends on all others of its columns. So with factors one of two
    ops does everything: without rows outside the one whose method splits,
    with one the other. The one that does not leaves its outputs as
    they are.

    With `reduction = reduce_only` it yields the `tenon.row_parts` of its tiles
    alone. With `in_tile` and `resident_rows` the region reduces rows, or groups of
    their columns; with the latter tiles have parts of them, and all tiles of one
    are at work together and exchange what they have in the workspace.

    With a schedule whose operands are swapped, `two_phase` needs an M of the tile
    that is a multiple of 64, and with `resident` no operand `[M, N]` or `[M, 1]`
    may come before the batch norm. All else is the same as with others.

    With `weights = 2` in its schedule it has two products of x. A second w
    follows the first, of its type, and a second product argument; with a method
    that splits a third factor, that of its rows.

    With `terms = 2` the product is `x w^T + x1 w1^T`, accumulated together: `plus`
    has an x and a w of another K, and with more terms further ones. All lie as the
    first do.

    On tensors it gives one result for each output; on memrefs none. One kernel
    comes of it, and one more for pointers that are not aligned
    (`--tenon-emit-kernels`).

    Requires: all operands tensors or all memrefs; x `[M, K]`, w `[N, K]` of one
    type other than f64, and w static; a product argument `[M, N]` of x's type
    or f32 for each w; of each further term an x `[M, K1]` and a w `[N, K1]` of that
    type; outputs `[M, N]`, but for moments and new statistics; in the region ops
    that implement `ElementwiseEpilogueOp`, reductions as above, and splat
    constants; a workspace exactly with `stream_k`, `reduction = resident` or `resident_rows`; f32 factors `[M, 1]` and `[N, 1]` of each w with a method that splits; with
    `fp8` none, or `[M, ceil(K / 128)]`, or of static M a vector of as many, and
    `[ceil(N / 128), ceil(K / 128)]` of one w.

    Example:

    ```mlir
    %1 = tenon.tiled_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
        epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>)
        outs(%0: tensor<?x32xbf16>) workspace(%ws: tensor<3147264xi8>)
        schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>
        -> tensor<?x32xbf16> {
      %2 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
      %3 = tenon.cast %2 : tensor<?x32xf32> -> tensor<?x32xbf16>
      tenon.yield %3 : tensor<?x32xbf16>
    }
    ```

    Errors: tensors mixed with memrefs; x and w of other shapes or types; an
    argument or a yielded value that differs from its operand or output; an output
    of another shape than the product; an op that cannot be in the epilogue;
    a reduction that the schedule does not name; one of these three without a
    workspace, or the reverse; another number of weights or terms than the schedule
    has, or of other types; factors of another shape or
    type, or none where the method needs them; element types that the method does
    not multiply.
  }];
  let arguments = (ins Tenon_TensorOrMemRef:$x, Tenon_TensorOrMemRef:$w,
                       Variadic<Tenon_TensorOrMemRef>:$further_weights,
                       Variadic<Tenon_TensorOrMemRef>:$further_terms,
                       Variadic<Tenon_TensorOrMemRef>:$factors,
                       Variadic<Tenon_TensorOrMemRef>:$inputs,
                       Variadic<Tenon_TensorOrMemRef>:$outputs,
                       Optional<Tenon_Workspace>:$workspace,
                       Tenon_ScheduleAttr:$schedule,
                       OptionalAttr<Tenon_OperandLayoutAttr>:$layout);
  let results = (outs Variadic<Tenon_Tensor>:$results);
  let regions = (region SizedRegion<1>:$epilogue);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // An op with an empty region and one term; its results are the outputs that
    // are tensors.
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::ValueRange":$weights,
                   "::mlir::ValueRange":$factors, "::mlir::ValueRange":$inputs,
                   "::mlir::ValueRange":$outputs, "::mlir::Value":$workspace,
                   "::mlir::tenon::ScheduleAttr":$schedule,
                   "::mlir::tenon::OperandLayoutAttr":$layout)>,
  ];
  let extraClassDeclaration = [{
    YieldOp getYield();
    bool isOnTensors();
    ProductExtents getExtents() {
      return getProductExtents(cast<ShapedType>(getX().getType()),
                               cast<ShapedType>(getW().getType()), getLayout());
    }
    /// [M, N], where M may be dynamic.
    SmallVector<int64_t> getProductShape();
    /// w, and what follows it.
    OperandRange getWeights() {
      return getOperation()->getOperands().slice(1, getNumWeights());
    }
    unsigned getNumWeights() { return 1 + getFurtherWeights().size(); }
    unsigned getNumTerms() { return 1 + getFurtherTerms().size() / 2; }
    /// x and w of a term.
    std::pair<Value, Value> getTerm(unsigned term) {
      if (term == 0)
        return {getX(), getW()};
      return {getFurtherTerms()[2 * term - 2], getFurtherTerms()[2 * term - 1]};
    }
    int64_t getTermK(unsigned term) {
      auto [x, w] = getTerm(term);
      return getProductExtents(cast<ShapedType>(x.getType()),
                               cast<ShapedType>(w.getType()), getLayout())
          .k;
    }
    /// The region's first argument, the product, and all products.
    BlockArgument getAccumulator() { return getBody()->getArgument(0); }
    ArrayRef<BlockArgument> getAccumulators() {
      return getBody()->getArguments().take_front(getNumWeights());
    }
    /// The region's arguments that stand for the inputs.
    ArrayRef<BlockArgument> getInputArguments() {
      return getBody()->getArguments().slice(getNumWeights(),
                                             getInputs().size());
    }
    /// Whether a value of the region is found for columns, and so may have
    /// another shape than the product: moments, or a reduction's results but for
    /// the first.
    static bool isOfColumns(Value value);
    /// Whether a value of a product's region has one element a row, [M, 1],
    /// where the product has more, or one for each part of a row.
    static bool isOfRows(Value value);
    /// Whether its factors are those of blocks of x and w.
    bool hasBlockScales() {
      return !getFactors().empty() &&
             getSchedule().getMethod() == ProductMethod::FP8;
    }
    /// Whether it replaces but some tiles of its outputs.
    bool isGuarded() {
      return !getFactors().empty() && !getSchedule().isSplit() &&
             !hasBlockScales();
    }
    MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONTILEDLINEAROP_TD
