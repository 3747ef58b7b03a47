//===- TestSupport.cpp - Tensors and models for tests ---------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <cstdlib>

using namespace tenon::test;

//===----------------------------------------------------------------------===//
// Counting allocations
//===----------------------------------------------------------------------===//

static thread_local int64_t allocations = 0;

int64_t tenon::test::allocationCount() { return allocations; }

#if !TENON_TEST_UNDER_SANITIZER
// The library has an operator new of its own, linked in; it ends here too.
extern "C" void *__libc_malloc(size_t bytes);
extern "C" void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
#endif

//===----------------------------------------------------------------------===//
// Tensors and models
//===----------------------------------------------------------------------===//

Tensor::Tensor(std::vector<int64_t> extents, DLDevice device, DLDataType dtype)
    : shape(std::move(extents)) {
  size_t bytes = dtype.bits / 8;
  for (int64_t extent : shape)
    bytes *= extent;
  storage.resize(bytes + 512);
  auto address = reinterpret_cast<uintptr_t>(storage.data());
  dl = {reinterpret_cast<void *>((address + 255) & ~uintptr_t(255)),
        device,
        static_cast<int>(shape.size()),
        dtype,
        shape.data(),
        nullptr,
        0};
}

void Tensor::setStrides(std::vector<int64_t> values) {
  strides = std::move(values);
  dl.strides = strides.data();
}

TestModel::TestModel(std::string text, std::vector<TenonFunctionImage> entries,
                     bool hasGpuCode, std::vector<float> values)
    : manifest(std::move(text)), functions(std::move(entries)),
      parameters(std::move(values)) {
  image = {kTenonImageVersion,
           static_cast<uint32_t>(functions.size()),
           manifest.c_str(),
           functions.data(),
           hasGpuCode ? "fatbin" : nullptr,
           hasGpuCode ? 6u : 0u,
           parameters.data(),
           parameters.size() * sizeof(float)};
  status = tenonModelFromImage(&image, &model);
}

TenonFunction *TestModel::function(const char *name) {
  TenonFunction *found = nullptr;
  EXPECT_WORKS(tenonModelFunction(model, name, &found));
  return found;
}

std::string tenon::test::oneFunction(const std::string &inputs,
                                     const std::string &outputs,
                                     const std::string &extra) {
  return R"({"tenon":"0.1.0","name":"test",)" + extra +
         R"(,"functions":[{"name":"f","inputs":[)" + inputs +
         R"(],"outputs":[)" + outputs + "]}]}";
}

TenonStatus tenon::test::run(TenonFunction *function,
                             std::vector<DLTensor *> inputs,
                             std::vector<DLTensor *> outputs, void *workspace,
                             size_t workspaceBytes, void *stream) {
  return tenonFunctionRun(function, inputs.data(), inputs.size(),
                          outputs.data(), outputs.size(), workspace,
                          workspaceBytes, stream);
}

testing::AssertionResult tenon::test::lastErrorHas(const std::string &text) {
  std::string message = tenonLastError();
  if (message.find(text) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expected: " << text << "\n   given: " << message;
}

/// The fakes take the place of the libraries in every test.
int main(int argc, char **argv) {
  setenv("TENON_LIBCUDA", TENON_TEST_FAKES, 1);
  setenv("TENON_LIBCUBLASLT", TENON_TEST_FAKES, 1);
  setenv("TENON_NUM_THREADS", "4", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
