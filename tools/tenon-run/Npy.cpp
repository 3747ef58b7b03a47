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
#include <charconv>
#include <cstring>
#include <filesystem>
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

/// What follows `'key':` in a header.
static std::string valueOf(const std::string &header, const std::string &key) {
  size_t found = header.find("'" + key + "':");
  if (found == std::string::npos)
    return "";
  found = header.find_first_not_of(' ', found + key.size() + 3);
  return found == std::string::npos ? "" : header.substr(found);
}

void NpyFile::parseShape(const std::string &header) {
  std::string tuple = valueOf(header, "shape");
  size_t close = tuple.find(')');
  if (tuple[0] != '(' || close == std::string::npos)
    malformed("its header has no shape");
  const char *next = tuple.c_str() + 1, *end = tuple.c_str() + close;
  while (next != end) {
    int64_t extent;
    auto [rest, error] = std::from_chars(next, end, extent);
    if (error != std::errc() || extent < 0)
      malformed("its shape is no tuple of whole numbers");
    shape.push_back(extent);
    next = rest;
    while (next != end && (*next == ',' || *next == ' '))
      ++next;
  }
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
  std::string type = valueOf(header, "descr");
  if (type.empty() || (type[0] == '\'' && type.find('\'', 1) == type.npos))
    malformed("its header has no dtype");
  // Records of several fields are lists; they are nothing that fits.
  descr = type[0] == '\'' ? type.substr(1, type.find('\'', 1) - 1) : "records";
  parseShape(header);
  if (valueOf(header, "fortran_order").compare(0, 5, "False"))
    throw Error("'" + path +
                "' is in Fortran order; write it with numpy.save(..., "
                "numpy.ascontiguousarray(a))");
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

void NpyFile::checkFits(const TensorInfo &tensor) const {
  std::string wanted = tensor.dtype->numpy;
  if (descr != wanted)
    throw Error("input '" + tensor.name + "' is " + tensor.dtype->name + ", '" +
                wanted + "' in a .npy file, but '" + path + "' holds '" +
                descr + "'; " +
                (wanted[1] == 'u' ? "write the bits as uint16"
                                  : std::string("convert it with a.astype('") +
                                        wanted + "') in NumPy"));
  bool fits = shape.size() == tensor.shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    if (const int64_t *extent = std::get_if<int64_t>(&tensor.shape[i]))
      fits = shape[i] == *extent;
  if (!fits)
    throw Error("input '" + tensor.name + "' has shape " + shapeText(tensor) +
                ", but '" + path + "' holds " + pythonTuple(shape) +
                "; reshape it");
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
      std::string("{'descr': '") + tensor.dtype->numpy +
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
