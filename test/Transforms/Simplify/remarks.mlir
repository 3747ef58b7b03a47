// RUN: tenon-opt %s --tenon-simplify="allow-rounding-changes fold-weights" --remarks-filter=tenon-simplify -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

func.func @exact(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 3.0 : tensor<?x8xf32>
  // CHECK: [[@LINE+1]]:8: remark: [Passed] MergeScalings | Category:tenon-simplify | Function=exact | Remark="two scalings by constants became one; exact"
  %1 = tenon.mul %0, 2.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

func.func @rounding(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.leaky_relu %x : tensor<?x8xf32>
  // CHECK: [[@LINE+1]]:8: remark: [Passed] ScaleBeforeRelu | Category:tenon-simplify | Function=rounding | Remark="a scaling moved before tenon.leaky_relu; rounding changes"
  %1 = tenon.mul %0, 3.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

func.func @fold(%x: tensor<?x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  // CHECK: remark: [Passed] FoldScale | {{.*}} | Remark="a scale folded into the weights; rounding changes"
  %1 = tenon.mul %0, %s : tensor<?x8xf32>, tensor<8xf32>
  return %1 : tensor<?x8xf32>
}
