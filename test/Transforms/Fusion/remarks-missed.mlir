// RUN: tenon-opt %s --tenon-fuse-epilogue --allow-unregistered-dialect --remarks-filter-missed=tenon-fuse-epilogue -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=remark:

func.func @not_an_epilogue_op(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  // CHECK: [[@LINE+1]]:8: remark: [Missed] NotAnEpilogueOp | Category:tenon-fuse-epilogue | Function=not_an_epilogue_op | BytesSpent=256, Reason="test.op is neither elementwise nor a reduction of the tenon dialect", Remark="test.op not fused into the linear of line [[@LINE-1]]", Suggestion="write it with tenon ops"
  %1 = "test.op"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

func.func @other_block(%c: i1, %x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = scf.if %c -> tensor<4x8xf32> {
    // The value is also yielded below, so its write is needed: a read is spent.
    // CHECK: remark: [Missed] OtherBlock | {{.*}} | BytesSpent=128, Reason="it is in another block than the product", {{.*}}Suggestion="compute it in the block of the product"
    %2 = tenon.relu %0 : tensor<4x8xf32>
    scf.yield %2 : tensor<4x8xf32>
  } else {
    scf.yield %0 : tensor<4x8xf32>
  }
  return %1 : tensor<4x8xf32>
}

func.func @other_shape(%x: tensor<?x16xf32>, %w: tensor<1x16xf32>, %r: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<1x16xf32>) -> tensor<?x1xf32>
  // CHECK: remark: [Missed] OtherShape | {{.*}} | BytesSpentPerRow=8, Reason="its result is tensor<?x8xf32>, but the product is tensor<?x1xf32>"
  %1 = tenon.mul %r, %0 : tensor<?x8xf32>, tensor<?x1xf32>
  return %1 : tensor<?x8xf32>
}

func.func @column_operand(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %m: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1, %2, %3 = tenon.batch_norm_training %0 running(%m, %m)
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: remark: [Missed] ColumnOperand | {{.*}} | BytesSpent=256, Reason="it also reads a per-column result of the same fused op"
  %4 = tenon.mul %1, %2 : tensor<4x8xf32>, tensor<8xf32>
  return %4 : tensor<4x8xf32>
}

func.func @side_effects(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = "test.read"() : () -> tensor<8xf32>
  %2 = tenon.relu %1 : tensor<8xf32>
  // CHECK: remark: [Missed] SideEffects | {{.*}}Reason="an operand comes from test.read, which has side effects and cannot move before the product", {{.*}}Suggestion="compute the operand before the linear"
  %3 = tenon.add %0, %2 : tensor<4x8xf32>, tensor<8xf32>
  return %3 : tensor<4x8xf32>
}

func.func @depends_on_product(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  // CHECK: remark: [Missed] NotAnEpilogueOp
  %1 = "test.op"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = tenon.tanh %1 : tensor<4x8xf32>
  // CHECK: remark: [Missed] DependsOnProduct | {{.*}}Reason="an operand depends on the product itself through test.op"
  %3 = tenon.add %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// What ends an epilogue in any program is no missed fusion: another linear, a
// return, the op that joined the later of two linears.
func.func @nothing_missed(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tenon.linear %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = tenon.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  return %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
