//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads headers; values stay where they are, in the mapped files.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/SafeTensors.h"

#include "tenon/Codegen/Host/ModelDescription.h"
#include "tenon/Runtime/DataType.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace mlir::tenon;
using llvm::StringRef;

namespace {
/// A tensor as the header has it.
struct Entry {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets; ///< begin and end
};
} // namespace

/// Null of a type that no parameter has.
static const TenonDataType *findDataType(const Entry &entry) {
  return findTenonDataType(entry.dtype, &TenonDataType::id);
}

static bool fromJSON(const llvm::json::Value &value, Entry &entry,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("dtype", entry.dtype) &&
         mapper.map("shape", entry.shape) &&
         mapper.map("data_offsets", entry.offsets);
}

/// Why a tensor of the entry's type cannot lie in so many bytes; "" if it can.
static std::string findSizeProblem(const Entry &entry, size_t bytes) {
  const TenonDataType *type = findDataType(entry);
  if (!type)
    return "";
  int64_t needed = type->bytes;
  for (int64_t extent : entry.shape)
    if (extent < 0 || llvm::MulOverflow(needed, extent, needed))
      return "has an extent of " + std::to_string(extent);
  if (static_cast<uint64_t>(needed) == bytes)
    return "";
  return "has " + std::to_string(bytes) + " bytes of data, but " +
         std::to_string(needed) + " by its shape and type";
}

/// The values of `entry` in `data`, if they are there.
static std::optional<StringRef> valuesOf(const Entry &entry, StringRef data) {
  if (entry.offsets.size() != 2)
    return std::nullopt;
  int64_t begin = entry.offsets[0], end = entry.offsets[1];
  if (begin < 0 || begin > end || end > static_cast<int64_t>(data.size()))
    return std::nullopt;
  return data.slice(begin, end);
}

/// Whether brackets lie deeper in each other than those of a header, three
/// deep, ever do: the parser of JSON would use up the stack.
static bool isNestedDeeply(StringRef json) {
  int depth = 0;
  bool isString = false;
  for (size_t i = 0; i != json.size(); ++i) {
    char c = json[i];
    if (c == '"')
      isString = !isString;
    else if (isString)
      i += c == '\\' && i + 1 != json.size();
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (depth > 8)
      return true;
  }
  return false;
}

static llvm::Error fail(StringRef path, const llvm::Twine &what) {
  return llvm::createStringError("cannot read parameters from '" + path +
                                 "': " + what);
}

/// The content of a file, mapped.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(StringRef path) {
  // One that does not end would be read for ever.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      status.type() == llvm::sys::fs::file_type::character_file)
    return fail(path, "it is not a regular file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(path, file.getError().message());
  return std::move(*file);
}

/// The object that `text`, what `path` has as its `part`, is in JSON.
static llvm::Expected<llvm::json::Object>
parseObject(StringRef path, StringRef part, StringRef text) {
  if (isNestedDeeply(text))
    return fail(path, part + " is nested too deeply");
  auto value = llvm::json::parse(text);
  if (!value)
    return fail(path,
                part + " is no JSON: " + llvm::toString(value.takeError()));
  llvm::json::Object *object = value->getAsObject();
  if (!object)
    return fail(path, part + " is no JSON object");
  return std::move(*object);
}

llvm::Error SafeTensors::addFile(StringRef file) {
  auto buffer = readFile(file);
  if (!buffer)
    return buffer.takeError();
  StringRef data = (*buffer)->getBuffer();
  uint64_t headerBytes =
      data.size() < 8 ? 0 : llvm::support::endian::read64le(data.data());
  if (headerBytes == 0 || headerBytes > data.size() - 8)
    return fail(file, "it is not a safetensors file, or it is cut short");
  auto header = parseObject(file, "its header", data.substr(8, headerBytes));
  if (!header)
    return header.takeError();
  data = data.drop_front(8 + headerBytes);
  for (const auto &[key, value] : *header) {
    StringRef name = key;
    if (name == "__metadata__")
      continue;
    Entry entry;
    llvm::json::Path::Root root(name);
    if (!fromJSON(value, entry, root))
      return fail(file, llvm::toString(root.getError()));
    auto values = valuesOf(entry, data);
    if (!values)
      return fail(file, "'" + name + "' lies outside of it; is it cut short?");
    if (std::string problem = findSizeProblem(entry, values->size());
        !problem.empty())
      return fail(file, "'" + name + "' " + problem);
    const TenonDataType *type = findDataType(entry);
    if (!tensors
             .try_emplace(name, Tensor{type ? type->name : entry.dtype,
                                       entry.shape, *values})
             .second)
      return fail(path, "two of its files have '" + name + "'");
  }
  buffers.push_back(std::move(*buffer));
  return llvm::Error::success();
}

/// Adds the files beside the index that have a tensor by its "weight_map".
llvm::Error SafeTensors::addIndex() {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  auto index = parseObject(path, "it", (*buffer)->getBuffer());
  if (!index)
    return index.takeError();
  const llvm::json::Object *places = index->getObject("weight_map");
  if (!places)
    return fail(path, "it has no \"weight_map\" from tensors to files");
  std::set<std::string> files;
  for (const auto &[name, value] : *places) {
    std::optional<StringRef> file = value.getAsString();
    if (!file || file->empty() || llvm::sys::path::filename(*file) != *file)
      return fail(path, "'" + StringRef(name) + "' is in no file beside it");
    files.insert(file->str());
  }
  for (const std::string &name : files) {
    llvm::SmallString<128> file = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(file, name);
    if (llvm::Error error = addFile(file))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<SafeTensors> SafeTensors::open(StringRef path,
                                              StringRef prefix) {
  SafeTensors result;
  result.path = path.str();
  result.prefix = prefix.str();
  if (llvm::Error error =
          path.ends_with(".json") ? result.addIndex() : result.addFile(path))
    return std::move(error);
  return std::move(result);
}

const SafeTensors::Tensor *SafeTensors::find(StringRef name) const {
  auto found = tensors.find(prefix + name.str());
  if (found != tensors.end())
    return &found->second;
  const Tensor *result = nullptr;
  for (const auto &entry : tensors) {
    StringRef rest = entry.first();
    if (rest.consume_front(prefix) && makeIdentifier(rest) == name) {
      if (result)
        return nullptr;
      result = &entry.second;
    }
  }
  return result;
}

std::vector<StringRef> SafeTensors::getNames() const {
  std::vector<StringRef> names;
  llvm::append_range(names, tensors.keys());
  llvm::sort(names);
  return names;
}
