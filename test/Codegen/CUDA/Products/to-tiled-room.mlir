// RUN: tenon-compile %s --target=sm_90a --remarks-filter=tenon-to-tiled --stop-after=cuda-blaslt 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks

// The cast for the second layer joins the first when that has a schedule, whose tiles have no room for one more result.
// CHECK-LABEL: func.func @cast_joins_later_run(
// CHECK-NOT:     reduction = resident
// CHECK:         tenon.tiled_linear {{.*}}reduction = two_phase>
// WHY: to-tiled-room.mlir:[[#@LINE+2]]:8: remark: [Missed] Reduction | Category:tenon-to-tiled | Function=cast_joins_later_run | Reason="with what joined the layer since its schedule was chosen, a tile has no room for all [M, N] operands and results", Remark="two_phase in the place of resident"
func.func @cast_joins_later(%x: tensor<512x4096xf32>, %w: tensor<4096x4096xf32> {tenon.param}, %v: tensor<4096x4096xf32> {tenon.param}, %s: tensor<512x4096xf32>) -> (tensor<512x4096xf32>, tensor<512x4096xf32>) {
  %p = tenon.linear %x, %w {precision = #tenon.precision<bf16>} : (tensor<512x4096xf32>, tensor<4096x4096xf32>) -> tensor<512x4096xf32>
  %n = tenon.batch_norm_training %p : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %a = tenon.add %n, %s : tensor<512x4096xf32>, tensor<512x4096xf32>
  %q = tenon.linear %a, %v {precision = #tenon.precision<bf16>} : (tensor<512x4096xf32>, tensor<4096x4096xf32>) -> tensor<512x4096xf32>
  return %q, %a : tensor<512x4096xf32>, tensor<512x4096xf32>
}
