//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives bufferized functions the runtime's signature and a workspace.
//
//===----------------------------------------------------------------------===//

#include "StoredBytes.h"
#include "WorkspacePlan.h"

#include "tenon/Codegen/Host/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONHOSTABI
#include "tenon/Codegen/Host/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

/// Alignment of every slice of the workspace: what cudaMalloc gives.
static constexpr int64_t kSliceAlignment = 256;

namespace {
/// Converts one function; the workspace function is made first, while sizes are
/// still computed from the original arguments.
class AbiConverter {
public:
  AbiConverter(func::FuncOp function, StringRef device)
      : function(function), device(device),
        pointer(LLVM::LLVMPointerType::get(function.getContext())),
        typeConverter(function.getContext()) {}

  LogicalResult convert();

private:
  LogicalResult collectAllocs();
  void assignOutputs();
  LogicalResult buildWorkspaceFunction();
  SmallVector<bool> ownsSlice();
  void sliceWorkspace(OpBuilder &builder, Value workspace);
  void replaceSignature();

  Value loadTensor(OpBuilder &builder, Value descriptors, int64_t index,
                   MemRefType type);
  Value emitEnd(OpBuilder &builder, Location loc, Value offset, MemRefType type,
                ValueRange dynamicSizes);
  Value makeWorkspace(OpBuilder &builder, Value base);

  func::FuncOp function;
  StringRef device;
  LLVM::LLVMPointerType pointer;
  LLVMTypeConverter typeConverter;
  /// Temporaries, in block order.
  SmallVector<memref::AllocOp> allocs;
  /// The slice of each.
  SmallVector<unsigned> slices;
  /// For each result of the function, the allocation that becomes the caller's
  /// buffer, or null where a value has to be copied there.
  SmallVector<memref::AllocOp> outputAllocs;
};
} // namespace

LogicalResult AbiConverter::collectAllocs() {
  Block *entry = &function.getBody().front();
  WalkResult result = function.walk([&](memref::AllocOp alloc) {
    if (alloc->getBlock() != entry) {
      alloc.emitOpError("is inside a loop or branch; a compiled model's "
                        "temporaries are slices of one workspace and must be "
                        "allocated at the top of the function");
      return WalkResult::interrupt();
    }
    if (!getStoredBytes(alloc.getType().getElementType())) {
      alloc.emitOpError("is of elements whose size in memory is not known; a "
                        "compiled model's buffers are of floats, integers of "
                        "at most 128 bits or indices");
      return WalkResult::interrupt();
    }
    allocs.push_back(alloc);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// A returned allocation becomes the caller's buffer, unless it is returned
/// twice: then the second output is a copy. On the CPU, a vector is a copy too:
/// a caller may give one buffer for a running statistic and its new value, and
/// loops may accumulate in what they return. (Kernels write statistics last.)
void AbiConverter::assignOutputs() {
  llvm::SmallPtrSet<Operation *, 4> taken;
  for (Value value :
       function.getBody().front().getTerminator()->getOperands()) {
    auto alloc = value.getDefiningOp<memref::AllocOp>();
    bool mayAlias = alloc && device == "cpu" && alloc.getType().getRank() < 2;
    if (mayAlias || (alloc && !taken.insert(alloc).second))
      alloc = nullptr;
    outputAllocs.push_back(alloc);
  }
  llvm::erase_if(allocs,
                 [&](memref::AllocOp alloc) { return taken.contains(alloc); });
}

/// The memref of tensor number `index`, from the runtime's array of pointers to
/// descriptors.
Value AbiConverter::loadTensor(OpBuilder &builder, Value descriptors,
                               int64_t index, MemRefType type) {
  Location loc = function.getLoc();
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, descriptors,
                                   LLVM::GEPArg(index));
  Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
  Value descriptor = LLVM::LoadOp::create(
      builder, loc, typeConverter.convertType(type), address);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

/// Offset of the first byte after a buffer of `type` at `offset`, aligned.
Value AbiConverter::emitEnd(OpBuilder &builder, Location loc, Value offset,
                            MemRefType type, ValueRange dynamicSizes) {
  int64_t bytes = getStoredBytes(type.getElementType());
  for (int64_t extent : type.getShape())
    if (!ShapedType::isDynamic(extent))
      bytes *= extent;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value size = constant(bytes);
  for (Value extent : dynamicSizes)
    size = arith::MulIOp::create(builder, loc, size, extent);
  Value end = arith::AddIOp::create(builder, loc, offset, size);
  end = arith::AddIOp::create(builder, loc, end, constant(kSliceAlignment - 1));
  return arith::AndIOp::create(builder, loc, end, constant(-kSliceAlignment));
}

LogicalResult AbiConverter::buildWorkspaceFunction() {
  OpBuilder builder(function);
  Location loc = function.getLoc();
  auto workspaceFunction = func::FuncOp::create(
      builder, loc, (function.getName() + "__" + device + "_workspace").str(),
      builder.getFunctionType(pointer, builder.getI64Type()));
  Block *body = workspaceFunction.addEntryBlock();
  builder.setInsertionPointToStart(body);

  IRMapping mapping;
  for (BlockArgument argument : function.getArguments())
    mapping.map(argument, loadTensor(builder, body->getArgument(0),
                                     argument.getArgNumber(),
                                     cast<MemRefType>(argument.getType())));
  SetVector<Operation *> sizes;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  for (memref::AllocOp alloc : allocs)
    for (Value extent : alloc.getDynamicSizes())
      if (failed(getBackwardSlice(extent, &sizes, options)))
        return alloc.emitOpError("has a size that cannot be traced");
  for (Operation *op : topologicalSort(sizes)) {
    if (!isMemoryEffectFree(op))
      return op->emitOpError("computes the size of a temporary and must depend "
                             "on the inputs' extents alone");
    builder.clone(*op, mapping);
  }
  Value offset = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [alloc, isFirst] : llvm::zip(allocs, ownsSlice()))
    if (isFirst)
      offset =
          emitEnd(builder, loc, offset, alloc.getType(),
                  llvm::map_to_vector(alloc.getDynamicSizes(), [&](Value v) {
                    return mapping.lookup(v);
                  }));
  Value bytes =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), offset);
  func::ReturnOp::create(builder, loc, bytes);
  return success();
}

/// A memref of bytes at `base`; nothing reads its extent.
Value AbiConverter::makeWorkspace(OpBuilder &builder, Value base) {
  Location loc = function.getLoc();
  auto type = MemRefType::get(ShapedType::kDynamic, builder.getI8Type());
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getI64IntegerAttr(value));
  };
  Value zero = constant(0), one = constant(1);
  Value extent = constant(std::numeric_limits<int64_t>::max());
  Value descriptor = MemRefDescriptor::pack(builder, loc, typeConverter, type,
                                            {base, base, zero, extent, one});
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

/// For each allocation, whether it is the first of its slice.
SmallVector<bool> AbiConverter::ownsSlice() {
  unsigned numSeen = 0;
  return llvm::map_to_vector(slices, [&](unsigned slice) {
    bool isFirst = slice == numSeen;
    numSeen += isFirst;
    return isFirst;
  });
}

void AbiConverter::sliceWorkspace(OpBuilder &builder, Value workspace) {
  Value end = arith::ConstantIndexOp::create(builder, function.getLoc(), 0);
  SmallVector<Value> offsets;
  for (auto [alloc, slice, isFirst] : llvm::zip(allocs, slices, ownsSlice())) {
    builder.setInsertionPoint(alloc);
    if (isFirst) {
      offsets.push_back(end);
      end = emitEnd(builder, alloc.getLoc(), end, alloc.getType(),
                    alloc.getDynamicSizes());
    }
    Value view = memref::ViewOp::create(
        builder, alloc.getLoc(), alloc.getType(), workspace, offsets[slice],
        alloc.getDynamicSizes());
    alloc.replaceAllUsesWith(view);
    alloc.erase();
  }
}

void AbiConverter::replaceSignature() {
  Block *entry = &function.getBody().front();
  Location loc = function.getLoc();
  OpBuilder builder(function.getContext());
  builder.setInsertionPointToStart(entry);
  unsigned numInputs = entry->getNumArguments();
  entry->addArguments({pointer, pointer, pointer}, {loc, loc, loc});
  Value descriptors = entry->getArgument(numInputs + 1);
  for (unsigned i = 0; i != numInputs; ++i) {
    BlockArgument argument = entry->getArgument(i);
    argument.replaceAllUsesWith(loadTensor(
        builder, descriptors, i, cast<MemRefType>(argument.getType())));
  }

  Operation *terminator = entry->getTerminator();
  for (auto [index, value, alloc] :
       llvm::enumerate(terminator->getOperands(), outputAllocs)) {
    auto type = cast<MemRefType>(value.getType());
    Value output = loadTensor(builder, descriptors, numInputs + index, type);
    if (alloc) {
      alloc.replaceAllUsesWith(output);
      continue;
    }
    OpBuilder atEnd(terminator);
    memref::CopyOp::create(atEnd, loc, value, output);
  }
  terminator->setOperands({});
  sliceWorkspace(builder,
                 makeWorkspace(builder, entry->getArgument(numInputs + 2)));
  for (memref::AllocOp alloc : outputAllocs)
    if (alloc)
      alloc.erase();
  entry->eraseArguments(0, numInputs);
}

LogicalResult AbiConverter::convert() {
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                            function.getResultTypes()))
    if (!isa<MemRefType>(type))
      return function.emitOpError("takes and gives tensors only, but has a ")
             << type;
  if (failed(collectAllocs()))
    return failure();
  assignOutputs();
  slices = planWorkspace(allocs);
  if (failed(buildWorkspaceFunction()))
    return failure();
  replaceSignature();
  function.setName((function.getName() + "__" + device).str());
  function.setType(FunctionType::get(function.getContext(),
                                     {pointer, pointer, pointer}, TypeRange()));
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  return success();
}

namespace {
struct TenonHostAbi : tenon::impl::TenonHostAbiBase<TenonHostAbi> {
  using TenonHostAbiBase::TenonHostAbiBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isDeclaration() || function.isPrivate())
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("has control flow; a model's function is one "
                             "block of tenon ops");
        return signalPassFailure();
      }
      if (failed(AbiConverter(function, device).convert()))
        return signalPassFailure();
    }
  }
};
} // namespace
