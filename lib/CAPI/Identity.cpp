//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a cache of compiled models must know about the compiler: which build of
// it this is, with which tools of CUDA, for which GPUs.
//
//===----------------------------------------------------------------------===//

#include "tenon-c/Compiler.h"
#include "tenon/Codegen/CUDA/Binary/Toolkit.h"
#include "tenon/Target/TargetSpec.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Alignment.h"

#include <link.h>

using namespace llvm;
using namespace mlir::tenon;

namespace {
/// A search for the build id of the file that is loaded at `address`.
struct BuildIdSearch {
  uintptr_t address;
  std::string id;
};
} // namespace

static bool holds(const dl_phdr_info &file, uintptr_t address) {
  for (const ElfW(Phdr) &part : ArrayRef(file.dlpi_phdr, file.dlpi_phnum)) {
    uintptr_t start = file.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= start &&
        address < start + part.p_memsz)
      return true;
  }
  return false;
}

/// The build id among the notes in `bytes`, as hexadecimal digits.
static std::string findBuildId(ArrayRef<uint8_t> bytes) {
  while (bytes.size() >= sizeof(ElfW(Nhdr))) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(bytes.data());
    size_t content = sizeof(*note) + alignTo(note->n_namesz, 4);
    size_t end = content + alignTo(note->n_descsz, 4);
    if (end > bytes.size())
      break;
    if (note->n_type == NT_GNU_BUILD_ID)
      return toHex(bytes.slice(content, note->n_descsz), /*LowerCase=*/true);
    bytes = bytes.drop_front(end);
  }
  return "";
}

static int visitFile(dl_phdr_info *file, size_t, void *data) {
  auto &search = *static_cast<BuildIdSearch *>(data);
  if (!holds(*file, search.address))
    return 0;
  for (const ElfW(Phdr) &part : ArrayRef(file->dlpi_phdr, file->dlpi_phnum))
    if (part.p_type == PT_NOTE && search.id.empty())
      search.id = findBuildId(ArrayRef(
          reinterpret_cast<const uint8_t *>(file->dlpi_addr + part.p_vaddr),
          part.p_memsz));
  return 1;
}

const char *tenonCompilerFingerprint(void) {
  static const std::string fingerprint = [] {
    BuildIdSearch search{reinterpret_cast<uintptr_t>(&visitFile), ""};
    dl_iterate_phdr(visitFile, &search);
    assert(!search.id.empty() && "linked with --build-id");
    return TENON_VERSION "-" + search.id;
  }();
  return fingerprint.c_str();
}

const char *tenonCompilerToolchain(void) {
  static thread_local std::string text;
  text = describeToolkit();
  return text.c_str();
}

const char *tenonListTargets(void) {
  static const std::string targets = listTargets();
  return targets.c_str();
}
