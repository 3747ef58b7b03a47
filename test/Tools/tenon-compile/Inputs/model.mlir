// y = relu(x w^T + b) * s: the scale is applied to what relu gives.
func.func @forward(%x: tensor<?x8xf32>, %w: tensor<4x8xf32> {tenon.param}, %b: tensor<4xf32> {tenon.param}) -> (tensor<?x4xf32> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %w, %b : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %1 = tenon.relu %0 : tensor<?x4xf32>
  %2 = tenon.mul %1, 3.0 : tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
