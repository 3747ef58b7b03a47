// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The precompiled header needs a source file to hang on.
