//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main function of tools that libtenon_compiler holds too.
//
//===----------------------------------------------------------------------===//

extern "C" int TENON_MAIN(int argc, char **argv);

int main(int argc, char **argv) { return TENON_MAIN(argc, argv); }
