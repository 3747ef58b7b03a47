// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One compiled model for every batch size, 1 included; bf16.
//
// In PyTorch:
//   torch._dynamo.mark_dynamic(x, 0)
//   y = torch.nn.functional.mish(linear(x)).clamp(max=4.0)
//
// Look for: only M may be dynamic. Two dynamic extents of one op are equal by
// contract; a compiled model checks that when it is called.

func.func @forward(
    %x: tensor<?x512xbf16> {tenon.name = "x"},
    %weight: tensor<256x512xbf16> {tenon.name = "weight", tenon.param},
    %bias: tensor<256xbf16> {tenon.name = "bias", tenon.param})
    -> (tensor<?x256xbf16> {tenon.name = "y"}) {
  %0 = tenon.linear %x, %weight, %bias
      : (tensor<?x512xbf16>, tensor<256x512xbf16>, tensor<256xbf16>) -> tensor<?x256xbf16>
  %1 = tenon.mish %0 : tensor<?x256xbf16>
  %2 = tenon.clamp %1 {max = 4.0} : tensor<?x256xbf16>
  return %2 : tensor<?x256xbf16>
}
