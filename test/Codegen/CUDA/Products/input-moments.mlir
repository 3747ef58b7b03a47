// RUN: tenon-opt %s --tenon-to-tiled --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-to-tiled --tenon-bufferize --split-input-file | FileCheck %s --check-prefix=BUFFER

// x and w give the product's moments; those of the norm's input, and the new running statistics, follow from them. The
// product's kernel normalises by them: what stands before the norm is in the scale, and a sum there cancels unless it is
// not finite.
// CHECK-LABEL: @layer
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xbf16>, %[[W:[^:]*]]: tensor<32x64xbf16>, %[[S:[^:]*]]: tensor<32xbf16>, %[[B:[^:]*]]: tensor<32xbf16>, %[[G:[^:]*]]: tensor<32xf32>, %[[H:[^:]*]]: tensor<32xf32>, %[[RM:[^:]*]]: tensor<32xf32>, %[[RV:[^:]*]]: tensor<32xf32>, %[[R:[^:]*]]: tensor<?x32xbf16>
// CHECK: %[[M:.*]]:3 = tenon.product_moments %[[X]], %[[W]] :
// CHECK: %[[ST:.*]]:4 = tenon.epilogue ins(%[[M0:.*]] = %[[M]]#0: tensor<32xf32>, %[[M1:.*]] = %[[M]]#1: tensor<32xf32>, %[[M2:.*]] = %[[M]]#2: tensor<32xf32>, %[[SA:.*]] = %[[S]]: tensor<32xbf16>, %[[BA:.*]] = %[[B]]: tensor<32xbf16>, %[[GA:.*]] = %[[G]]: tensor<32xf32>, %[[RMA:.*]] = %[[RM]]: tensor<32xf32>, %[[RVA:.*]] = %[[RV]]: tensor<32xf32>) outs(%{{.*}}: tensor<32xf32>, %{{.*}}: tensor<32xf32>, %{{.*}}: tensor<32xf32>, %{{.*}}: tensor<32xf32>)
// CHECK-NEXT: %[[SIG:.*]] = tenon.sigmoid %[[SA]]
// CHECK-NEXT: %[[A1:.*]] = tenon.add %[[M0]], %[[BA]] : tensor<32xf32>, tensor<32xbf16>
// CHECK-NEXT: %[[A2:.*]] = tenon.mul %[[A1]], %[[SIG]]
// CHECK-NEXT: %[[MEAN:.*]] = tenon.mul %[[A2]], 5.000000e-01
// CHECK-NEXT: %[[V1:.*]] = tenon.mul %[[M1]], %[[SIG]]
// CHECK-NEXT: %[[V2:.*]] = tenon.mul %[[V1]], %[[SIG]]
// CHECK-NEXT: %[[V3:.*]] = tenon.mul %[[V2]], 5.000000e-01
// CHECK-NEXT: %[[VAR:.*]] = tenon.mul %[[V3]], 5.000000e-01
// CHECK-NEXT: %[[E:.*]] = tenon.add %[[VAR]], 1.000000e-03
// CHECK-NEXT: %[[Q:.*]] = math.sqrt %[[E]] : tensor<32xf32>
// CHECK-NEXT: %[[D:.*]] = tenon.div 1.000000e+00, %[[Q]]
// CHECK-NEXT: %[[ZERO:.*]] = tenon.sub %[[MEAN]], %[[MEAN]]
// CHECK-NEXT: %[[PM:.*]] = tenon.add %[[M0]], %[[ZERO]]
// CHECK-NEXT: %[[S1:.*]] = tenon.mul %[[D]], %[[SIG]]
// CHECK-NEXT: %[[S2:.*]] = tenon.mul %[[S1]], 5.000000e-01
// CHECK-NEXT: %[[S3:.*]] = tenon.mul %[[S2]], %[[GA]]
// A column without variance gets the norm's bias alone: 0 of what rounding left.
// CHECK-NEXT: %[[L1:.*]] = tenon.mul %[[M1]], 9.9{{9*}}7E+37
// CHECK-NEXT: %[[L2:.*]] = tenon.mul %[[L1]], 9.9{{9*}}7E+37
// CHECK-NEXT: %[[HAS:.*]] = tenon.min %[[L2]], 1.000000e+00
// CHECK-NEXT: %[[SC:.*]] = tenon.mul %[[S3]], %[[HAS]]
// CHECK-NEXT: %[[U1:.*]] = tenon.mul %[[M2]], %[[SIG]]
// CHECK-NEXT: %[[U2:.*]] = tenon.mul %[[U1]], %[[SIG]]
// CHECK-NEXT: %[[U3:.*]] = tenon.mul %[[U2]], 5.000000e-01
// CHECK-NEXT: %[[UNB:.*]] = tenon.mul %[[U3]], 5.000000e-01
// CHECK-NEXT: %[[K1:.*]] = tenon.mul %[[RMA]], 7.500000e-01
// CHECK-NEXT: %[[N1:.*]] = tenon.mul %[[MEAN]], 2.500000e-01
// CHECK-NEXT: %[[NM:.*]] = tenon.add %[[K1]], %[[N1]]
// CHECK-NEXT: %[[K2:.*]] = tenon.mul %[[RVA]], 7.500000e-01
// CHECK-NEXT: %[[N2:.*]] = tenon.mul %[[UNB]], 2.500000e-01
// CHECK-NEXT: %[[NV:.*]] = tenon.add %[[K2]], %[[N2]]
// CHECK-NEXT: tenon.yield %[[PM]], %[[SC]], %[[NM]], %[[NV]]
// CHECK: %[[Y:.*]] = tenon.tiled_linear %[[X]], %[[W]] {{.*}} epilogue(%[[ACC:.*]]: tensor<?x32xbf16>, %[[HL:.*]] = %[[H]]: {{.*}}, %[[RL:.*]] = %[[R]]: {{.*}}, %[[ML:.*]] = %[[ST]]#0: tensor<32xf32>, %[[VL:.*]] = %[[ST]]#1: tensor<32xf32>) outs(%{{.*}}: tensor<?x32xbf16>) schedule<wgmma, {{.*}}reduction = input_moments>
// CHECK-NEXT: %[[FAR:.*]] = tenon.sub %[[ACC]], %[[ML]]
// CHECK-NEXT: %[[SCALED:.*]] = tenon.mul %[[FAR]], %[[VL]]
// CHECK-NEXT: %[[NORM:.*]] = tenon.add %[[SCALED]], %[[HL]]
// CHECK-NEXT: tenon.relu %[[NORM]]
// CHECK-NEXT: tenon.add %{{.*}}, %[[RL]]
// CHECK: return %[[Y]], %[[ST]]#2, %[[ST]]#3
// BUFFER-LABEL: @layer
// BUFFER: tenon.product_moments
// BUFFER: tenon.epilogue
// BUFFER: tenon.tiled_linear
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @layer(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %s: tensor<32xbf16>, %b: tensor<32xbf16>, %g: tensor<32xf32>, %h: tensor<32xf32>, %rm: tensor<32xf32>, %rv: tensor<32xf32>, %r: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %scale = %s: tensor<32xbf16>, %bias = %b: tensor<32xbf16>, %ga = %g: tensor<32xf32>, %be = %h: tensor<32xf32>, %mean = %rm: tensor<32xf32>, %var = %rv: tensor<32xf32>, %res = %r: tensor<?x32xbf16>)
      -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.sigmoid %scale : tensor<32xbf16>
    %2 = tenon.add %acc, %bias : tensor<?x32xbf16>, tensor<32xbf16>
    %3 = tenon.mul %2, %1 : tensor<?x32xbf16>, tensor<32xbf16>
    %4 = tenon.mul %3, 0.5 : tensor<?x32xbf16>
    %5:3 = tenon.batch_norm_training %4 weight(%ga) bias(%be) running(%mean, %var) {eps = 1.0e-3, momentum = 0.25} : (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>)
    %6 = tenon.relu %5#0 : tensor<?x32xbf16>
    %7 = tenon.add %6, %res : tensor<?x32xbf16>, tensor<?x32xbf16>
    tenon.yield %7, %5#1, %5#2 : tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// -----

// The guard of a split product normalises by the same statistics, those of x and w themselves. What stands before the
// norm may be a result too, and be read after it.
// CHECK-LABEL: @split
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xf32>, %[[W:[^:]*]]: tensor<32x64xf32>
// CHECK: %[[M:.*]]:3 = tenon.product_moments %[[X]], %[[W]] :
// CHECK: %[[ST:.*]]:2 = tenon.epilogue ins(%{{.*}} = %[[M]]#0: {{.*}} outs(%{{.*}}: tensor<32xf32>, %{{.*}}: tensor<32xf32>)
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear {{.*}} = %[[ST]]#0: {{.*}} = %[[ST]]#1: {{.*}}method = fp16x3, reduction = input_moments>
// CHECK: tenon.sub
// CHECK: tenon.tiled_linear {{.*}} = %[[ST]]#0: {{.*}} = %[[ST]]#1: {{.*}} outs(%[[P]]#0: tensor<?x32xf32>, %[[P]]#1: tensor<?x32xf32>) schedule<mma_sync, {{.*}}method = fma>
// CHECK: tenon.sub
// BUFFER-LABEL: @split
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @split(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp16x3, reduction = input_moments>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.batch_norm_training %1 : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %3 = tenon.add %2, %acc : tensor<?x32xf32>, tensor<?x32xf32>
    tenon.yield %3, %1 : tensor<?x32xf32>, tensor<?x32xf32>
  }
  return %0#0, %0#1 : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// A norm in another type than the product's, without a sum before it: the mean is the product's as it is.
// CHECK-LABEL: @cast
// CHECK: %[[M:.*]]:3 = tenon.product_moments
// CHECK: tenon.epilogue ins(%[[M0:.*]] = %[[M]]#0: tensor<32xf32>
// CHECK-NOT: tenon.sub
// CHECK: tenon.yield %[[M0]], %{{.*}} :
// CHECK: tenon.tiled_linear {{.*}}epilogue(%[[ACC:.*]]: tensor<?x32xf32>,
// CHECK-NEXT: %[[FAR:.*]] = tenon.sub %[[ACC]],
// CHECK-NEXT: %[[SCALED:.*]] = tenon.mul %[[FAR]],
// CHECK-NEXT: %[[NORM:.*]] = tenon.cast %[[SCALED]] : tensor<?x32xf32> -> tensor<?x32xbf16>
// CHECK-NEXT: tenon.yield %[[NORM]]
func.func @cast(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xbf16>
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = input_moments>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.mul %acc, 3.0 : tensor<?x32xf32>
    %2 = tenon.cast %1 : tensor<?x32xf32> -> tensor<?x32xbf16>
    %3 = tenon.batch_norm_training %2 : (tensor<?x32xbf16>) -> tensor<?x32xbf16>
    tenon.yield %3 : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}
