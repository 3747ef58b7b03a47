//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's file format: a magic number, a header that is a Python dictionary,
// and the elements. Debian has no library for it.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "Error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <regex>
#include <unistd.h>

using namespace tenon::run;
namespace fs = std::filesystem;

static std::string pythonTuple(const std::vector<int64_t> &shape) {
  std::string text = "(";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + (shape.size() == 1 ? ",)" : ")");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void NpyFile::malformed(const std::string &what) const {
  throw Error("'" + path + "' is not a readable .npy file: " + what +
              "; write it with numpy.save");
}

/// What is in the first parentheses of a pattern; nothing where it is not in
/// the header.
static std::optional<std::string> match(const std::string &header,
                                        const char *pattern) {
  std::smatch found;
  if (!std::regex_search(header, found, std::regex(pattern)))
    return std::nullopt;
  return found[1];
}

void NpyFile::parseHeader(const std::string &header) {
  auto type = match(header, "'descr': *('[^']*'|\\[)");
  if (!type)
    malformed("its header has no dtype");
  // Records of several fields are lists; they are nothing that fits.
  descr = *type == "[" ? "records" : type->substr(1, type->size() - 2);
  auto tuple = match(header, "'shape': *\\(([^)]*)\\)");
  if (!tuple)
    malformed("its header has no shape");
  if (!std::regex_match(*tuple, std::regex("(\\d{1,18}(, *|$))*")))
    malformed("its shape is no tuple of whole numbers");
  std::regex extent("\\d+");
  for (std::sregex_iterator i(tuple->begin(), tuple->end(), extent), e; i != e;
       ++i)
    shape.push_back(std::stoll(i->str()));
  if (!match(header, "'fortran_order': *(False)"))
    throw Error("'" + path +
                "' is in Fortran order; write it with numpy.save(..., "
                "numpy.ascontiguousarray(a))");
}

void NpyFile::readHeader() {
  unsigned char prefix[12];
  auto read = [&](void *target, size_t bytes) {
    if (!file.read(static_cast<char *>(target), bytes))
      malformed("it ends within its header");
  };
  read(prefix, 10);
  if (memcmp(prefix, "\x93NUMPY", 6) || prefix[6] < 1 || prefix[6] > 3)
    malformed("it does not start as one of version 1 to 3");
  size_t length = prefix[8] | prefix[9] << 8;
  if (prefix[6] > 1) {
    read(prefix + 10, 2);
    length |= size_t(prefix[10]) << 16 | size_t(prefix[11]) << 24;
  }
  if (length > 1 << 20)
    malformed("its header is longer than 1 MiB");
  std::string header(length, ' ');
  read(header.data(), length);
  parseHeader(header);
}

NpyFile::NpyFile(const std::string &path) : path(path) {
  if (fs::is_directory(path))
    throw Error("'" + path + "' is a directory; give a .npy file");
  errno = 0;
  file.open(path, std::ios::binary);
  if (!file)
    throw Error("cannot read '" + path + "': " + strerror(errno) +
                "; check the path");
  readHeader();
}

void NpyFile::checkFits(const FunctionInfo &function,
                        const TensorInfo &tensor) const {
  const TenonDataType &type = getTenonDataType(tensor.dtype);
  std::string wanted = type.numpy;
  if (descr != wanted)
    throw Error("input '" + tensor.name + "' is " + type.name + ", '" + wanted +
                "' in a .npy file, but '" + path + "' holds '" + descr + "'; " +
                (wanted[1] == 'u' // a type that NumPy has not
                     ? "write the bits as uint" + std::to_string(8 * type.bytes)
                     : std::string("convert it with a.astype('") + wanted +
                           "') in NumPy"));
  bool fits = shape.size() == tensor.shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = tensor.shape[i].symbol >= 0 || shape[i] == tensor.shape[i].extent;
  if (!fits)
    throw Error("input '" + tensor.name + "' has shape " +
                shapeText(function, tensor) + ", but '" + path + "' holds " +
                pythonTuple(shape) + "; reshape it");
}

void NpyFile::readInto(Tensor &host) {
  size_t bytes = host.bytes();
  if (!file.read(static_cast<char *>(host.data()), bytes))
    malformed("it ends after " + std::to_string(file.gcount()) + " of " +
              std::to_string(bytes) + " bytes of elements");
  if (file.peek() != EOF)
    malformed("it has more than its " + std::to_string(bytes) +
              " bytes of elements");
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

[[noreturn]] static void failWrite(const std::string &path) {
  throw Error("cannot write '" + path + "': " + strerror(errno) +
              "; give a path that can be written, with space left");
}

/// The file at the end of symbolic links: they are written through, and stay.
static fs::path followLinks(const std::string &path) {
  constexpr int kMostLinks = 40; // as of the kernel
  fs::path file = path;
  std::error_code ignored;
  for (int links = 0; fs::is_symlink(file, ignored);) {
    if (++links > kMostLinks) {
      errno = ELOOP;
      failWrite(path);
    }
    file.replace_filename(fs::read_symlink(file, ignored));
  }
  return file;
}

void tenon::run::checkWritable(const std::string &path) {
  fs::path folder = followLinks(path).parent_path();
  folder = folder.empty() ? "." : folder;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw Error("cannot write '" + path + "': there is no folder '" +
                folder.string() + "'; make it first");
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    throw Error("cannot write '" + path +
                "': it is there and is not a file; give another path");
  if (access(folder.c_str(), W_OK))
    failWrite(path);
}

static std::string npyHeader(const Tensor &tensor) {
  std::string text =
      std::string("{'descr': '") + tensor.type().numpy +
      "', 'fortran_order': False, 'shape': " + pythonTuple(tensor.shape) +
      ", }";
  // The elements start at a multiple of 64 bytes, for those who map the file.
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(text.size() & 0xff);
  prefix += static_cast<char>(text.size() >> 8);
  return prefix + text;
}

void tenon::run::writeNpy(const std::string &path, const Tensor &host) {
  std::string target = followLinks(path);
  std::string part = target + ".part" + std::to_string(getpid());
  std::string header = npyHeader(host);
  std::ofstream file(part, std::ios::binary);
  file.write(header.data(), header.size());
  file.write(static_cast<const char *>(host.data()), host.bytes());
  file.close();
  if (!file || rename(part.c_str(), target.c_str())) {
    int reason = errno;
    unlink(part.c_str());
    errno = reason;
    failWrite(path);
  }
}
