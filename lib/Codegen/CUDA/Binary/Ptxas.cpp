//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs ptxas and fatbinary, and reads what ptxas says.
//
//===----------------------------------------------------------------------===//

#include "Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace mlir::tenon;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// The number before `unit` in a line of the log, or 0.
static uint64_t getNumber(StringRef line, StringRef unit) {
  SmallVector<StringRef> matches;
  uint64_t number = 0;
  if (Regex(("([0-9]+) " + unit).str()).match(line, &matches))
    matches[1].getAsInteger(10, number);
  return number;
}

Expected<std::vector<KernelResources>>
mlir::tenon::parsePtxasLog(StringRef log, StringRef target) {
  std::vector<KernelResources> kernels;
  for (StringRef line : split(log, '\n')) {
    if (Regex("C75[0-9][0-9]").match(line))
      return makeError("ptxas gave up an optimisation for " + target + ": " +
                       line.trim());
    SmallVector<StringRef> name;
    if (Regex("Compiling entry function '([^']+)'").match(line, &name)) {
      kernels.push_back({name[1].str(), target.str()});
      continue;
    }
    if (kernels.empty())
      continue;
    kernels.back().spilledBytes += getNumber(line, "bytes spill stores");
    if (line.contains(" registers")) {
      kernels.back().registers = getNumber(line, "registers");
      kernels.back().sharedBytes = getNumber(line, "bytes smem");
    }
  }
  return kernels;
}

Expected<std::pair<std::string, std::vector<KernelResources>>>
mlir::tenon::assemble(const Toolkit &toolkit, const TemporaryFolder &folder,
                      StringRef target, StringRef ptx) {
  std::string source = folder.file(target.str() + ".ptx");
  std::string object = folder.file(target.str() + ".cubin");
  if (Error error = writeFile(source, ptx))
    return std::move(error);
  // Kernels are assembled side by side, on all processors: the same code.
  Expected<std::string> log =
      runTool(toolkit.ptxas,
              {"-arch=" + target.str(), "-O3", "--split-compile=0", "-v",
               source, "-o", object},
              folder, target.str() + ".log");
  if (!log)
    return log.takeError();
  Expected<std::vector<KernelResources>> kernels = parsePtxasLog(*log, target);
  if (!kernels)
    return kernels.takeError();
  Expected<std::string> cubin = readFile(object);
  if (!cubin)
    return cubin.takeError();
  return std::pair(std::move(*cubin), std::move(*kernels));
}

Expected<std::string>
mlir::tenon::createFatbin(const Toolkit &toolkit, const TemporaryFolder &folder,
                          const CompiledKernels &kernels) {
  std::string output = folder.file("kernels.fatbin");
  if (output.find_first_of(",\"") != std::string::npos)
    return makeError("fatbinary takes no comma and no quote in a path, but the "
                     "temporary folder's is '" +
                     sys::path::parent_path(output) +
                     "'; point TMPDIR to another");
  std::vector<std::string> arguments{"--create=" + output, "--64"};
  auto add = [&](StringRef kind, StringRef target, StringRef suffix) {
    arguments.push_back(("--image3=kind=" + kind +
                         ",sm=" + target.substr(StringRef("sm_").size()) +
                         ",file=" + folder.file((target + suffix).str()))
                            .str());
  };
  // The files are where `assemble` left them.
  for (const auto &[target, cubin] : kernels.cubin)
    add("elf", target, ".cubin");
  if (!kernels.ptxTarget.empty())
    add("ptx", kernels.ptxTarget, ".ptx");
  Expected<std::string> log =
      runTool(toolkit.fatbinary, arguments, folder, "fatbinary.log");
  if (!log)
    return log.takeError();
  return readFile(output);
}
