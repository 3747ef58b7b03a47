//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tenon/Remarks/Reason.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct Entry {
  const char *name, *format, *suggestion;
};
} // namespace

static constexpr Entry kReasons[] = {
#define TENON_REASON(CODE, TEXT, SUGGESTION) {#CODE, TEXT, SUGGESTION},
#include "tenon/Remarks/Reasons.def"
};

static constexpr const char *kKernels[] = {
#define TENON_KERNEL(CODE, NAME) NAME,
#include "tenon/Remarks/Reasons.def"
};

static const Entry &getEntry(ReasonCode code) {
  return kReasons[static_cast<size_t>(code)];
}

StringRef tenon::stringifyReasonCode(ReasonCode code) {
  return getEntry(code).name;
}

const char *Reason::getFormat(ReasonCode code) { return getEntry(code).format; }

StringRef Reason::getSuggestion() const { return getEntry(code).suggestion; }

llvm::json::Value Reason::toJSON() const {
  return llvm::json::Object{{"code", stringifyReasonCode(code)},
                            {"data", llvm::json::Array(data)}};
}

ValuedRemark &ValuedRemark::operator<<(const Reason &reason) {
  say(reason.getText());
  reasons.push_back(reason.toJSON());
  if (!reason.getSuggestion().empty())
    inFlight << remark::suggest("{0}", reason.getSuggestion());
  return *this;
}

ValuedRemark &ValuedRemark::say(StringRef words) {
  text += (text.empty() ? "" : "; ") + words.str();
  return *this;
}

ValuedRemark &ValuedRemark::operator<<(ArrayRef<KernelKind> kernels) {
  llvm::json::Array names;
  for (KernelKind kernel : kernels)
    names.push_back(kKernels[static_cast<size_t>(kernel)]);
  return set("kernels", std::move(names));
}

ValuedRemark &ValuedRemark::set(StringRef key, llvm::json::Value value) {
  values[key] = std::move(value);
  return *this;
}

ValuedRemark::~ValuedRemark() {
  if (!inFlight)
    return;
  if (!text.empty())
    inFlight << remark::reason("{0}", text);
  if (!reasons.empty())
    values["reasons"] = std::move(reasons);
  if (!values.empty())
    inFlight << remark::detail::Remark::Arg(
        kValues,
        llvm::formatv("{0}", llvm::json::Value(std::move(values))).str());
}
