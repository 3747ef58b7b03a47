func.func @forward(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param}) -> (tensor<?x32xf32> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %1 = tenon.relu %0 : tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}
