// What programs read of a remark: codes and numbers, in JSON.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 | FileCheck %s

// CHECK: Function=bias | {{.*}}Values={{"?}}{"choice":{"code":"AskedFor","data":["tiled"]},"family":"wgmma","kernels":["tiled"],"method":"direct","predictions":[{"library":{{.*}},"target":"sm_90a","waves":{{.*}}}],"shared_bytes":{{[0-9]+}},"strategy":"tiled"}
func.func @bias(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>, %b: tensor<1024xbf16>) -> tensor<1024x1024xbf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024xbf16>) -> tensor<1024x1024xbf16>
  return %0 : tensor<1024x1024xbf16>
}

// A reason keeps the code of what it stands for, and data as numbers.
// CHECK: Function=f64 | Reason="no tiled kernel multiplies f64", {{.*}}Values={{"?}}{"choice":{"code":"CannotBeTiled","data":[]},"reasons":[{"code":"NoKernelOfF64","data":[]}],"strategy":"library"}
func.func @f64(%x: tensor<8x8xf64>, %w: tensor<8x8xf64>) -> tensor<8x8xf64> {
  %0 = tenon.linear %x, %w : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  return %0 : tensor<8x8xf64>
}
