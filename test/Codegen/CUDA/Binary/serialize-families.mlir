// Every kernel family and type assembles without spills.
// REQUIRES: ptxas
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-serialize-kernels=targets=sm_80,sm_90a | FileCheck %s --implicit-check-not=gpu.module --implicit-check-not='spilled_bytes = {{[1-9]}}'

// CHECK: gpu.binary @kernels
// CHECK-SAME: chip = "sm_80"
// CHECK-SAME: map_bf16_map_v8 = {registers = {{[0-9]+}}
// CHECK-SAME: norm_f64_reduce_v2 = {registers = {{[0-9]+}}
// CHECK-SAME: chip = "sm_90a"

func.func @map_f32(%y: memref<?x64xf32>, %b: memref<64xf32>, %r: memref<?x64xf32>) {
  tenon.epilogue ins(%a = %y: memref<?x64xf32>, %bias = %b: memref<64xf32>, %res = %r: memref<?x64xf32>) outs(%y: memref<?x64xf32>) {
    %p = tenon.add %a, %bias : tensor<?x64xf32>, tensor<64xf32>
    %q = tenon.div %p, %bias : tensor<?x64xf32>, tensor<64xf32>
    %s = tenon.max %q, %res : tensor<?x64xf32>, tensor<?x64xf32>
    %u0 = tenon.relu %s : tensor<?x64xf32>
    %u1 = tenon.leaky_relu %u0 : tensor<?x64xf32>
    %u2 = tenon.gelu %u1 : tensor<?x64xf32>
    %u3 = tenon.silu %u2 : tensor<?x64xf32>
    %u4 = tenon.mish %u3 : tensor<?x64xf32>
    %u5 = tenon.sigmoid %u4 : tensor<?x64xf32>
    %u6 = tenon.tanh %u5 : tensor<?x64xf32>
    %u7 = tenon.clamp %u6 {min = -1.0, max = 3.0} : tensor<?x64xf32>
    %g = tenon.gelu %u7 approximate<tanh> : tensor<?x64xf32>
    tenon.yield %g : tensor<?x64xf32>
  }
  return
}
func.func @norm_f32(%y: memref<?x64xf32>, %g: memref<64xf32>, %b: memref<64xf32>, %m: memref<64xf32>, %v: memref<64xf32>) {
  tenon.epilogue ins(%a = %y: memref<?x64xf32>, %gamma = %g: memref<64xf32>, %beta = %b: memref<64xf32>, %mean = %m: memref<64xf32>, %var = %v: memref<64xf32>)
      outs(%y: memref<?x64xf32>, %m: memref<64xf32>, %v: memref<64xf32>) {
    %0 = tenon.mul %a, %gamma : tensor<?x64xf32>, tensor<64xf32>
    %1:3 = tenon.batch_norm_training %0 weight(%gamma) bias(%beta) running(%mean, %var) : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>)
    %2 = tenon.silu %1#0 : tensor<?x64xf32>
    %3 = tenon.batch_norm_training %2 : (tensor<?x64xf32>) -> tensor<?x64xf32>
    tenon.yield %3, %1#1, %1#2 : tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  return
}
func.func @map_f16(%y: memref<?x64xf16>, %b: memref<64xf16>, %r: memref<?x64xf16>) {
  tenon.epilogue ins(%a = %y: memref<?x64xf16>, %bias = %b: memref<64xf16>, %res = %r: memref<?x64xf16>) outs(%y: memref<?x64xf16>) {
    %p = tenon.add %a, %bias : tensor<?x64xf16>, tensor<64xf16>
    %q = tenon.div %p, %bias : tensor<?x64xf16>, tensor<64xf16>
    %s = tenon.max %q, %res : tensor<?x64xf16>, tensor<?x64xf16>
    %u0 = tenon.relu %s : tensor<?x64xf16>
    %u1 = tenon.leaky_relu %u0 : tensor<?x64xf16>
    %u2 = tenon.gelu %u1 : tensor<?x64xf16>
    %u3 = tenon.silu %u2 : tensor<?x64xf16>
    %u4 = tenon.mish %u3 : tensor<?x64xf16>
    %u5 = tenon.sigmoid %u4 : tensor<?x64xf16>
    %u6 = tenon.tanh %u5 : tensor<?x64xf16>
    %u7 = tenon.clamp %u6 {min = -1.0, max = 3.0} : tensor<?x64xf16>
    %g = tenon.gelu %u7 approximate<tanh> : tensor<?x64xf16>
    tenon.yield %g : tensor<?x64xf16>
  }
  return
}
func.func @norm_f16(%y: memref<?x64xf16>, %g: memref<64xf16>, %b: memref<64xf16>, %m: memref<64xf16>, %v: memref<64xf16>) {
  tenon.epilogue ins(%a = %y: memref<?x64xf16>, %gamma = %g: memref<64xf16>, %beta = %b: memref<64xf16>, %mean = %m: memref<64xf16>, %var = %v: memref<64xf16>)
      outs(%y: memref<?x64xf16>, %m: memref<64xf16>, %v: memref<64xf16>) {
    %0 = tenon.mul %a, %gamma : tensor<?x64xf16>, tensor<64xf16>
    %1:3 = tenon.batch_norm_training %0 weight(%gamma) bias(%beta) running(%mean, %var) : (tensor<?x64xf16>, tensor<64xf16>, tensor<64xf16>, tensor<64xf16>, tensor<64xf16>) -> (tensor<?x64xf16>, tensor<64xf16>, tensor<64xf16>)
    %2 = tenon.silu %1#0 : tensor<?x64xf16>
    %3 = tenon.batch_norm_training %2 : (tensor<?x64xf16>) -> tensor<?x64xf16>
    tenon.yield %3, %1#1, %1#2 : tensor<?x64xf16>, tensor<64xf16>, tensor<64xf16>
  }
  return
}
func.func @map_bf16(%y: memref<?x64xbf16>, %b: memref<64xbf16>, %r: memref<?x64xbf16>) {
  tenon.epilogue ins(%a = %y: memref<?x64xbf16>, %bias = %b: memref<64xbf16>, %res = %r: memref<?x64xbf16>) outs(%y: memref<?x64xbf16>) {
    %p = tenon.add %a, %bias : tensor<?x64xbf16>, tensor<64xbf16>
    %q = tenon.div %p, %bias : tensor<?x64xbf16>, tensor<64xbf16>
    %s = tenon.max %q, %res : tensor<?x64xbf16>, tensor<?x64xbf16>
    %u0 = tenon.relu %s : tensor<?x64xbf16>
    %u1 = tenon.leaky_relu %u0 : tensor<?x64xbf16>
    %u2 = tenon.gelu %u1 : tensor<?x64xbf16>
    %u3 = tenon.silu %u2 : tensor<?x64xbf16>
    %u4 = tenon.mish %u3 : tensor<?x64xbf16>
    %u5 = tenon.sigmoid %u4 : tensor<?x64xbf16>
    %u6 = tenon.tanh %u5 : tensor<?x64xbf16>
    %u7 = tenon.clamp %u6 {min = -1.0, max = 3.0} : tensor<?x64xbf16>
    %g = tenon.gelu %u7 approximate<tanh> : tensor<?x64xbf16>
    tenon.yield %g : tensor<?x64xbf16>
  }
  return
}
func.func @norm_bf16(%y: memref<?x64xbf16>, %g: memref<64xbf16>, %b: memref<64xbf16>, %m: memref<64xbf16>, %v: memref<64xbf16>) {
  tenon.epilogue ins(%a = %y: memref<?x64xbf16>, %gamma = %g: memref<64xbf16>, %beta = %b: memref<64xbf16>, %mean = %m: memref<64xbf16>, %var = %v: memref<64xbf16>)
      outs(%y: memref<?x64xbf16>, %m: memref<64xbf16>, %v: memref<64xbf16>) {
    %0 = tenon.mul %a, %gamma : tensor<?x64xbf16>, tensor<64xbf16>
    %1:3 = tenon.batch_norm_training %0 weight(%gamma) bias(%beta) running(%mean, %var) : (tensor<?x64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> (tensor<?x64xbf16>, tensor<64xbf16>, tensor<64xbf16>)
    %2 = tenon.silu %1#0 : tensor<?x64xbf16>
    %3 = tenon.batch_norm_training %2 : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
    tenon.yield %3, %1#1, %1#2 : tensor<?x64xbf16>, tensor<64xbf16>, tensor<64xbf16>
  }
  return
}
func.func @map_f64(%y: memref<?x64xf64>, %b: memref<64xf64>, %r: memref<?x64xf64>) {
  tenon.epilogue ins(%a = %y: memref<?x64xf64>, %bias = %b: memref<64xf64>, %res = %r: memref<?x64xf64>) outs(%y: memref<?x64xf64>) {
    %p = tenon.add %a, %bias : tensor<?x64xf64>, tensor<64xf64>
    %q = tenon.div %p, %bias : tensor<?x64xf64>, tensor<64xf64>
    %s = tenon.max %q, %res : tensor<?x64xf64>, tensor<?x64xf64>
    %u0 = tenon.relu %s : tensor<?x64xf64>
    %u1 = tenon.leaky_relu %u0 : tensor<?x64xf64>
    %u2 = tenon.gelu %u1 : tensor<?x64xf64>
    %u3 = tenon.silu %u2 : tensor<?x64xf64>
    %u4 = tenon.mish %u3 : tensor<?x64xf64>
    %u5 = tenon.sigmoid %u4 : tensor<?x64xf64>
    %u6 = tenon.tanh %u5 : tensor<?x64xf64>
    %u7 = tenon.clamp %u6 {min = -1.0, max = 3.0} : tensor<?x64xf64>
    %g = tenon.gelu %u7 approximate<tanh> : tensor<?x64xf64>
    tenon.yield %g : tensor<?x64xf64>
  }
  return
}
func.func @norm_f64(%y: memref<?x64xf64>, %g: memref<64xf64>, %b: memref<64xf64>, %m: memref<64xf64>, %v: memref<64xf64>) {
  tenon.epilogue ins(%a = %y: memref<?x64xf64>, %gamma = %g: memref<64xf64>, %beta = %b: memref<64xf64>, %mean = %m: memref<64xf64>, %var = %v: memref<64xf64>)
      outs(%y: memref<?x64xf64>, %m: memref<64xf64>, %v: memref<64xf64>) {
    %0 = tenon.mul %a, %gamma : tensor<?x64xf64>, tensor<64xf64>
    %1:3 = tenon.batch_norm_training %0 weight(%gamma) bias(%beta) running(%mean, %var) : (tensor<?x64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>) -> (tensor<?x64xf64>, tensor<64xf64>, tensor<64xf64>)
    %2 = tenon.silu %1#0 : tensor<?x64xf64>
    %3 = tenon.batch_norm_training %2 : (tensor<?x64xf64>) -> tensor<?x64xf64>
    tenon.yield %3, %1#1, %1#2 : tensor<?x64xf64>, tensor<64xf64>, tensor<64xf64>
  }
  return
}
