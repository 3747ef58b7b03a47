// RUN: tenon-opt %s --tenon-fuse-epilogue -o /dev/null 2>&1 | count 0
// RUN: tenon-opt %s --tenon-fuse-epilogue --remarks-filter=tenon-other -o /dev/null 2>&1 | count 0
// RUN: tenon-opt %s --tenon-fuse-epilogue --remarks-filter='tenon-.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: tenon-opt %s --tenon-fuse-epilogue --remarks-filter='tenon-.*' --remark-format=yaml --remarks-output-file=%t.yaml -o /dev/null
// RUN: FileCheck %s --check-prefix=YAML < %t.yaml

// TEXT:     [Passed] FuseElementwise
// TEXT:     [Missed] OtherShape

// YAML:      --- !Passed
// YAML-NEXT: Pass:            tenon-fuse-epilogue
// YAML-NEXT: Name:            FuseElementwise
// YAML-NEXT: DebugLoc:
// YAML:      Function:        filter
// YAML-NEXT: Args:
// YAML-NEXT:   - Remark:          tenon.relu fused into the linear of line [[#]]
// YAML-NEXT:   - BytesSaved:      '64'
// YAML:      --- !Missed
// YAML:        - BytesSpent:      '64'
func.func @filter(%x: tensor<1x16xf32>, %w: tensor<8x16xf32>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<1x16xf32>, tensor<8x16xf32>) -> tensor<1x8xf32>
  %1 = tenon.relu %0 : tensor<1x8xf32>
  %2 = tenon.add %1, %r : tensor<1x8xf32>, tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
