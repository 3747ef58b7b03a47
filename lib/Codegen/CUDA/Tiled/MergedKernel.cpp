//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of several layers as one, whose first blocks compute the first
// layer, the next ones the second.
//
//===----------------------------------------------------------------------===//

#include "MergedKernel.h"

#include "Codegen/CUDA/Emit/KernelBuilder.h"
#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<Value> KernelArguments::getAll() const {
  SmallVector<Value> all(mapped);
  llvm::append_range(all, pointers);
  all.append({m, token});
  return all;
}

namespace {
class KernelMerger {
public:
  KernelMerger(Location loc, gpu::GPUModuleOp module, StringRef name,
               ArrayRef<KernelPart> parts)
      : b(loc, module.getContext()), parts(parts) {
    for (const KernelPart &part : parts)
      addArguments(part.arguments);
    merged.kernel = createKernelFunction(
        b, module, name, merged.arguments.maps.size(),
        merged.arguments.pointers.size(), parts[0].geometry.blockThreads());
    StringRef minBlocks = NVVM::NVVMDialect::getMinctasmAttrName();
    LLVM::LLVMFuncOp first = parts[0].kernel;
    merged.kernel->setAttr(minBlocks, first->getAttr(minBlocks));
  }

  MergedKernel run();

private:
  void addArguments(const KernelArguments &arguments);
  size_t findMapped(Value matrix, Attribute map) const;
  SmallVector<Value> getArguments(const KernelArguments &arguments);
  void moveIn(const KernelPart &part);

  KernelBuilder b;
  ArrayRef<KernelPart> parts;
  MergedKernel merged;
};
} // namespace

/// Where the kernel has a matrix with this map; behind all, if nowhere.
size_t KernelMerger::findMapped(Value matrix, Attribute map) const {
  const auto &[mapped, maps, pointers, m, token] = merged.arguments;
  size_t index = 0;
  while (index != maps.size() &&
         !(mapped[index] == matrix && maps[index] == map))
    ++index;
  return index;
}

void KernelMerger::addArguments(const KernelArguments &arguments) {
  KernelArguments &all = merged.arguments;
  for (auto [matrix, map] : llvm::zip_equal(arguments.mapped, arguments.maps))
    if (findMapped(matrix, map) == all.maps.size()) {
      all.mapped.push_back(matrix);
      all.maps.push_back(map);
    }
  for (Value pointer : arguments.pointers)
    if (!llvm::is_contained(all.pointers, pointer))
      all.pointers.push_back(pointer);
  all.m = arguments.m;
  all.token = arguments.token;
}

/// What stands in the merged kernel for the arguments of one.
SmallVector<Value>
KernelMerger::getArguments(const KernelArguments &arguments) {
  const KernelArguments &all = merged.arguments;
  ValueRange own = merged.kernel.getArguments();
  SmallVector<Value> found;
  for (auto [matrix, map] : llvm::zip_equal(arguments.mapped, arguments.maps))
    found.push_back(own[findMapped(matrix, map)]);
  for (Value pointer : arguments.pointers) {
    size_t index = llvm::find(all.pointers, pointer) - all.pointers.begin();
    found.push_back(own[all.maps.size() + index]);
  }
  llvm::append_range(found, own.take_back(2));
  return found;
}

/// Moves a kernel's body to where `b` is. Variables stay at the entry, where
/// LLVM makes registers of them.
void KernelMerger::moveIn(const KernelPart &part) {
  LLVM::LLVMFuncOp kernel = part.kernel;
  for (auto [argument, value] :
       llvm::zip_equal(kernel.getArguments(), getArguments(part.arguments)))
    argument.replaceAllUsesWith(value);
  Block &body = kernel.getBody().front();
  body.getTerminator()->erase();
  Block *entry = &merged.kernel.getBody().front();
  for (auto variable :
       llvm::make_early_inc_range(body.getOps<LLVM::AllocaOp>())) {
    variable.getArraySize().getDefiningOp()->moveBefore(entry, entry->begin());
    variable->moveAfter(variable.getArraySize().getDefiningOp());
  }
  b.getInsertionBlock()->getOperations().splice(b.getInsertionPoint(),
                                                body.getOperations());
  kernel.erase();
}

MergedKernel KernelMerger::run() {
  const TileGeometry &geometry = parts[0].geometry;
  Value m = arith::TruncIOp::create(
      b, b.getI32Type(), merged.kernel.getArguments().take_back(2)[0]);
  Value rows = ShapedType::isDynamic(geometry.m)
                   ? b.ceilDiv(m, geometry.unitM())
                   : b.i32(geometry.rowUnits());
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  OpBuilder::InsertPoint end;
  for (const KernelPart &next : parts.drop_front()) {
    Value isBefore =
        b.less(block, b.mul(rows, *next.geometry.columnUnitsBefore));
    auto branch = scf::IfOp::create(b, isBefore, /*withElseRegion=*/true);
    if (!end.isSet()) {
      b.setInsertionPointAfter(branch);
      end = b.saveInsertionPoint();
    }
    b.setInsertionPointToStart(branch.thenBlock());
    moveIn(*std::prev(&next));
    b.setInsertionPointToStart(branch.elseBlock());
  }
  moveIn(parts.back());
  b.restoreInsertionPoint(end);
  LLVM::ReturnOp::create(b, ValueRange());
  return merged;
}

MergedKernel tenon::mergeKernels(Location loc, gpu::GPUModuleOp module,
                                 StringRef name, ArrayRef<KernelPart> parts) {
  return KernelMerger(loc, module, name, parts).run();
}
