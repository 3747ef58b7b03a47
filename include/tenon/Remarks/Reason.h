//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Why something was done or not, for people and for programs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_REMARKS_REASON_H
#define TENON_REMARKS_REASON_H

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace mlir::tenon {

enum class ReasonCode {
#define TENON_REASON(CODE, TEXT, SUGGESTION) CODE,
#include "tenon/Remarks/Reasons.def"
};

/// The code's name.
StringRef stringifyReasonCode(ReasonCode code);

/// One of Reasons.def, with its data, of which one may be another reason.
class Reason {
public:
  template <typename... Ts>
  Reason(ReasonCode code, const Ts &...data)
      : code(code), text(llvm::formatv(getFormat(code), toText(data)...).str()),
        data{toJSON(data)...} {}

  ReasonCode getCode() const { return code; }
  StringRef getText() const { return text; }
  /// What a user can do; "" if nothing.
  StringRef getSuggestion() const;
  llvm::json::Value toJSON() const;

private:
  template <typename T> static const T &toText(const T &datum) { return datum; }
  static StringRef toText(const Reason &reason) { return reason.text; }
  template <typename T> static llvm::json::Value toJSON(const T &datum) {
    return llvm::json::Value(datum);
  }
  static llvm::json::Value toJSON(const Reason &reason) {
    return reason.toJSON();
  }
  /// A copy, which json::Value does not make of a StringRef.
  static llvm::json::Value toJSON(StringRef datum) { return datum.str(); }
  static const char *getFormat(ReasonCode code);

  ReasonCode code;
  std::string text;
  llvm::json::Array data;
};

/// What a layer runs as.
enum class KernelKind {
#define TENON_KERNEL(CODE, NAME) CODE,
#include "tenon/Remarks/Reasons.def"
};

/// The argument of a remark that has its values, an object in JSON.
inline constexpr llvm::StringLiteral kValues = "Values";

/// A remark whose text is for people. What programs read are its values: the
/// reasons' codes and data, and whatever is set.
class ValuedRemark {
public:
  explicit ValuedRemark(remark::detail::InFlightRemark inFlight)
      : inFlight(std::move(inFlight)) {}
  ValuedRemark(ValuedRemark &&) = default;
  /// Gives the reasons' texts, one after the other, and the values.
  ~ValuedRemark();

  ValuedRemark &operator<<(const remark::detail::LazyTextBuild &text) {
    inFlight << text;
    return *this;
  }
  ValuedRemark &operator<<(const Reason &reason);
  /// Adds words to the reasons' that programs have no use for.
  ValuedRemark &say(StringRef words);
  ValuedRemark &operator<<(ArrayRef<KernelKind> kernels);
  ValuedRemark &set(StringRef key, llvm::json::Value value);

private:
  remark::detail::InFlightRemark inFlight;
  std::string text;
  llvm::json::Array reasons;
  llvm::json::Object values;
};

} // namespace mlir::tenon

#endif // TENON_REMARKS_REASON_H
