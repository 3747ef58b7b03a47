//===- TenonReduceRowOp.td - Reductions along N ------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONREDUCEROWOP_TD
#define TENON_DIALECT_TENON_IR_TENONREDUCEROWOP_TD

include "tenon/Dialect/Tenon/IR/TenonOpBase.td"

def Tenon_ReduceRowOp : Tenon_Op<"reduce_row", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Sum, mean, maximum or minimum of each row, or of groups";
  let description = [{
    One value a row, of its N elements: `sum`, `mean`, `max` or `min`. A NaN gives
    NaN. With `groups` G one value for each of G equal groups of neighbouring
    columns, `[M, G]`, which `tenon.repeat_columns` brings back to the columns.

    `argmax` and `argmin` give the column of the largest or smallest element, as
    f32 (f64 where input is): of equal ones the first, and of a row that has NaN
    the first of these. With `numbers`, `[M, N]`, they give the number that stands
    there; of equal elements the smallest.

    What normalises rows is made of it and of elementwise ops, since a value
    `[M, 1]` broadcasts: a softmax of two, after each other, as below; a layer norm
    of the mean, and of the mean of squared distances from it. All may be in the
    epilogue of one `tenon.fused_linear`, where nothing is rounded between them.

    Requires: input `[M, N]`; groups positive and a divisor of N; numbers for
    argmax and argmin alone, of input's shape, and f32, or f64 where input is; of
    f32 at most 2^24 columns, unless there are numbers. Gives: `[M, G]` of input's
    element type, or as said.

    Example:

    ```mlir
    %max = tenon.reduce_row max %0 : tensor<?x64xf32>
    %1 = tenon.sub %0, %max : tensor<?x64xf32>, tensor<?x1xf32>
    %2 = tenon.exp %1 : tensor<?x64xf32>
    %sum = tenon.reduce_row sum %2 : tensor<?x64xf32>
    %3 = tenon.div %2, %sum : tensor<?x64xf32>, tensor<?x1xf32>
    ```

    Errors: an input that is no matrix; groups that do not divide its columns;
    numbers that are not as said, or are missing.
  }];
  let arguments = (ins Tenon_RowReductionAttr:$kind, Tenon_Matrix:$input,
                       Optional<Tenon_Matrix>:$numbers,
                       DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Tenon_Matrix:$result);
  let builders = [OpBuilder<(ins "RowReduction":$kind, "Value":$input,
                                 CArg<"int64_t", "1">:$groups)>];
  let assemblyFormat = [{
    `` $kind $input (`at` $numbers^)? attr-dict `:` type($input)
    (`,` type($numbers)^)?
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Columns that f32 tells apart.
    static constexpr int64_t kMaxNumberedColumns = 1 << 24;

    /// Whether the result is a place: argmax and argmin.
    static bool isPlace(RowReduction kind) {
      return kind == RowReduction::ArgMax || kind == RowReduction::ArgMin;
    }
    bool givesPlace() { return isPlace(getKind()); }
    /// Columns that one value is of.
    int64_t getGroupColumns() {
      return getInput().getType().getDimSize(1) / getGroups();
    }

    // What every back end emits, on scalars of the compute type.
    /// What is known of some elements: a number; of a place, an element and the
    /// number that stands there.
    using State = SmallVector<Value, 2>;
    /// What changes nothing that it is combined with.
    State emitNeutral(OpBuilder &builder, Type type);
    /// `isLater`: all of b's places are after those of a.
    State emitCombine(OpBuilder &builder, ValueRange a, ValueRange b,
                      bool isLater = false);
    /// The result, of what all elements of a row, or a group, combine to.
    Value emitFinish(OpBuilder &builder, ValueRange combined);
  }];
}

def Tenon_RepeatColumnsOp : Tenon_Op<"repeat_columns", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Each column several times";
  let description = [{
    Column j of the result is column `j / times` of the input: what was found of
    groups of `times` columns, at each of them. A group norm is a layer norm with
    `groups` in its reductions and this behind what they find.

    Requires: input `[M, G]`; times positive. Gives: `[M, G times]` of input's
    element type.

    Example:

    ```mlir
    %mean = tenon.reduce_row mean %0 {groups = 4} : tensor<?x64xf32>
    %1 = tenon.repeat_columns %mean {times = 16} : tensor<?x4xf32>
    %2 = tenon.sub %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
    ```

    Errors: an input that is no matrix; times that are not positive.
  }];
  let arguments = (ins Tenon_Matrix:$input,
                       ConfinedAttr<I64Attr, [IntPositive]>:$times);
  let results = (outs Tenon_Matrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Tenon_RowPartsOp : Tenon_Op<"row_parts"> {
  let summary = "What a reduction of rows gives for parts of them";
  let description = [{
    Takes a matrix's columns in parts of `columns`, the last of which may have
    fewer. Column p of the result is what the input would be if reductions had
    the columns of part p alone.

    It stands in the region of a `tenon.tiled_linear`, whose yield alone uses it:
    a kernel has this of its tiles, whose N are the parts' columns.

    Requires: input `[M, 1]` of f32, made of `tenon.reduce_row`; columns positive
    and fewer than N. Gives: f32 `[M, ceil(N / columns)]`.

    Example:

    ```mlir
    %max = tenon.reduce_row max %0 : tensor<?x640xf32>
    %p = tenon.row_parts %max {columns = 256} : tensor<?x1xf32> -> tensor<?x3xf32>
    ```

    Errors: an input or a result of another shape or type; columns that are not
    positive; any other place.
  }];
  let arguments = (ins Tenon_Matrix:$input,
                       ConfinedAttr<I64Attr, [IntPositive]>:$columns);
  let results = (outs Tenon_Matrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_TENON_IR_TENONREDUCEROWOP_TD
