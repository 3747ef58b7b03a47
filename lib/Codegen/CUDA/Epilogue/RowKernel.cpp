//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel for all reductions of a row, if any, one after the other, and what
// follows them. Threads hold elements a chunk apart; they meet by shuffles, and
// warps through shared memory, in an order that is always the same.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/KernelBuilder.h"
#include "Codegen/CUDA/Emit/KernelFunction.h"
#include "Codegen/CUDA/Emit/PackedElements.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

/// Elements of a row that a warp reduces by itself, and that a thread keeps in
/// registers.
static constexpr int64_t kWarpColumns = 1024, kKeptElements = 64;
/// Threads that keep a row which 256 do not.
static constexpr unsigned kLongRowThreads = 512;

/// Of long rows a block has more threads: 512 that keep one, for which f64 has
/// no registers, or so many that the rows at work, which are read again, are
/// few enough to stay in L2.
static unsigned getThreadsOfRow(int64_t n, bool isDouble) {
  if (n <= kWarpColumns)
    return 32;
  if (n <= 256 * kKeptElements || isDouble)
    return 256;
  return n <= kLongRowThreads * kKeptElements ? kLongRowThreads : 1024;
}

RowGeometry::RowGeometry(int64_t n, int64_t groups, unsigned lanes,
                         bool isDouble)
    : n(n), groups(groups), lanes(lanes),
      threadsPerRow(getThreadsOfRow(n, isDouble)),
      threads(std::max(256u, threadsPerRow)) {
  if (groups != 1)
    threadsPerRow = std::min<unsigned>(
        threadsPerRow, llvm::bit_ceil(llvm::divideCeil(unsigned(n), lanes)));
}

/// 1024 threads have 64 registers each.
bool RowGeometry::keepsRow() const {
  return threads != 1024 && numChunks() * lanes <= kKeptElements;
}

/// The one matrix of a region, of 16 bits, if all that is computed of it for
/// reductions takes little time: then the longest rows of a block are kept as
/// they lie in memory, in half of the registers, and each reduction computes
/// its input anew. So a multiprocessor has two, and loads one while it reduces
/// the other. Of shorter ones it has more than one anyway.
static BlockArgument findPacked(EpilogueOp op, ArrayRef<RowPhase> phases,
                                const RowGeometry &geometry) {
  if (!geometry.keepsRow() || geometry.threads != kLongRowThreads ||
      geometry.lanes % 2 != 0 || phases.empty())
    return {};
  BlockArgument matrix;
  for (BlockArgument argument : op.getBody()->getArguments()) {
    Type type = argument.getType();
    if (argument.use_empty() || !EpiloguePlan::variesByColumn(type) ||
        !EpiloguePlan::variesByRow(type))
      continue;
    Type element = getElementTypeOrSelf(type);
    if (matrix || (!element.isF16() && !element.isBF16()))
      return {};
    matrix = argument;
  }
  auto isLoaded = [&](BlockArgument operand) {
    return operand != matrix && EpiloguePlan::variesByColumn(operand.getType());
  };
  auto isHeavy = [](Operation *inner) {
    return inner->hasTrait<OpTrait::tenon::Transcendental>();
  };
  bool isCheap = llvm::none_of(phases.front().phase.ops, isHeavy) &&
                 llvm::none_of(phases, [&](const RowPhase &phase) {
                   return llvm::any_of(phase.phase.operands, isLoaded);
                 });
  return isCheap ? matrix : BlockArgument();
}

namespace {
class RowKernel {
public:
  RowKernel(gpu::GPUModuleOp module, StringRef name, EpilogueOp op,
            ArrayRef<RowPhase> phases, const RowGeometry &geometry);

  LLVM::LLVMFuncOp emit();

private:
  using Emitter = std::unique_ptr<ElementEmitter>;
  /// Where a thread's elements of a chunk begin; null: they are in range.
  struct Place {
    Value column, inRange;
  };

  Place getPlace(Value chunk, bool mayEndRow = true);
  Place getPlaceOfPass(Value step, unsigned pass);
  Emitter createEmitter(const Place &place,
                        ArrayRef<BlockArgument> loadedFirst);
  Value loadWords(const Place &place);
  Emitter unpack(int64_t chunk);
  using State = ReduceRowOp::State;

  State getElement(const RowPhase &phase, ElementEmitter &emitter,
                   const Place &place, unsigned lane);
  State reduceChunk(const RowPhase &phase, ElementEmitter &emitter,
                    const Place &place, State state);
  State reduceThread(const RowPhase &phase, unsigned number);
  Value shuffle(Value value, int64_t mask);
  State meet(ReduceRowOp op, State state, unsigned number);
  void reduce(const RowPhase &phase, unsigned number);
  void store(ElementEmitter &emitter, const Place &place);
  void emitRow();
  void enterGroup(Value m);

  KernelBuilder b;
  EpilogueOp op;
  const RowGeometry &geometry;
  LLVM::LLVMFuncOp function;
  ArrayRef<RowPhase> phases;
  DenseMap<Value, Value> pointers;
  SmallVector<Value> outputs;
  Value thread;     ///< among those of the row, i32
  Value row, group; ///< i64
  Value rowInRange; ///< null: it is
  /// Of the row's reductions, what was found.
  SmallVector<std::pair<BlockArgument, Value>> found;
  /// Of all chunks, where the row is kept.
  SmallVector<std::pair<Place, Emitter>> kept;
  /// What is kept of the row as it lies in memory, if not null, and its words.
  BlockArgument packed;
  SmallVector<std::pair<Place, Value>> words;
};
} // namespace

RowKernel::RowKernel(gpu::GPUModuleOp module, StringRef name, EpilogueOp op,
                     ArrayRef<RowPhase> phases, const RowGeometry &geometry)
    : b(op.getLoc(), module.getContext()), op(op), geometry(geometry),
      phases(phases) {
  function = createKernelFunction(b, module, name, /*numTensorMaps=*/0,
                                  op.getNumOperands(), geometry.threads);
  ValueRange arguments = function.getArguments();
  // What was cut has arguments of the region behind those of the inputs.
  for (auto [argument, pointer] :
       llvm::zip(op.getBody()->getArguments(),
                 arguments.take_front(op.getInputs().size())))
    pointers[argument] = pointer;
  outputs = arguments.slice(op.getInputs().size(), op.getOutputs().size());
  packed = findPacked(op, phases, geometry);
  if (packed) // each thread has 64 registers
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      b.getI32IntegerAttr(2));
}

RowKernel::Place RowKernel::getPlace(Value chunk, bool mayEndRow) {
  Value own = b.toI64(b.mul(thread, geometry.lanes));
  Place place{b.add(b.mul(chunk, geometry.columnsOfChunk()), own), Value()};
  if (geometry.isRagged() && mayEndRow) {
    place.inRange = b.less(place.column, geometry.n);
    place.column =
        b.minSigned(place.column, b.i64(geometry.n - geometry.lanes));
  }
  if (geometry.groups != 1)
    place.column = b.add(place.column, b.mul(group, geometry.n));
  return place;
}

/// Every other pass over a row goes backwards: what was read last is in L2.
RowKernel::Place RowKernel::getPlaceOfPass(Value step, unsigned pass) {
  return getPlace(pass % 2 == 0 ? step
                                : b.sub(b.i64(geometry.numChunks() - 1), step));
}

RowKernel::Emitter
RowKernel::createEmitter(const Place &place,
                         ArrayRef<BlockArgument> loadedFirst) {
  auto emitter = std::make_unique<ElementEmitter>(b, pointers, place.column,
                                                  geometry.lanes);
  emitter->shareReciprocals();
  emitter->beginRows(row, loadedFirst);
  for (auto [argument, value] : found)
    emitter->set(argument, /*row=*/0, /*lane=*/0, value);
  return emitter;
}

Value RowKernel::loadWords(const Place &place) {
  Value offset = getOffset(b, packed.getType(), row, place.column);
  int64_t bytes = getElementTypeOrSelf(packed).getIntOrFloatBitWidth() / 8;
  return LLVM::LoadOp::create(
      b, VectorType::get(geometry.lanes / 2, b.getI32Type()),
      b.offset(pointers.at(packed), b.mul(offset, bytes)),
      /*alignment=*/geometry.lanes * bytes);
}

/// Anew each time: else LLVM would keep elements rather than words.
RowKernel::Emitter RowKernel::unpack(int64_t chunk) {
  auto &[place, ofChunk] = words[chunk];
  Emitter emitter = createEmitter(place, /*loadedFirst=*/{});
  auto pair = VectorType::get(2, getElementTypeOrSelf(packed));
  for (unsigned lane = 0; lane != geometry.lanes; lane += 2) {
    Value word = b.readAnew(vector::ExtractOp::create(b, ofChunk, lane / 2));
    SmallVector<Value> elements =
        extendElements(b, LLVM::BitcastOp::create(b, pair, word));
    for (unsigned i : {0, 1})
      emitter->set(packed, /*row=*/0, lane + i, elements[i]);
  }
  return emitter;
}

/// What is known of one element.
RowKernel::State RowKernel::getElement(const RowPhase &phase,
                                       ElementEmitter &emitter,
                                       const Place &place, unsigned lane) {
  State element{emitter.get(phase.input, /*row=*/0, lane)};
  ReduceRowOp reduction = phase.reduction;
  if (phase.numbers)
    element.push_back(emitter.get(phase.numbers, /*row=*/0, lane));
  else if (reduction.givesPlace())
    element.push_back(arith::SIToFPOp::create(b, element[0].getType(),
                                              b.add(place.column, lane)));
  return element;
}

RowKernel::State RowKernel::reduceChunk(const RowPhase &phase,
                                        ElementEmitter &emitter,
                                        const Place &place, State state) {
  ReduceRowOp reduction = phase.reduction;
  Type type = state.front().getType();
  for (unsigned lane = 0; lane != geometry.lanes; ++lane) {
    State element = getElement(phase, emitter, place, lane);
    if (place.inRange)
      for (auto [value, neutral] :
           llvm::zip_equal(element, reduction.emitNeutral(b, type)))
        value = b.select(place.inRange, value, neutral);
    state = reduction.emitCombine(b, state, element);
  }
  return state;
}

RowKernel::State RowKernel::reduceThread(const RowPhase &phase,
                                         unsigned number) {
  ReduceRowOp reduction = phase.reduction;
  State state = reduction.emitNeutral(
      b, cast<RankedTensorType>(phase.result.getType()).getElementType());
  for (int64_t chunk = 0, count = words.size(); chunk != count; ++chunk)
    state = reduceChunk(phase, *unpack(chunk), words[chunk].first, state);
  for (auto &[place, emitter] : kept)
    state = reduceChunk(phase, *emitter, place, state);
  if (geometry.keepsRow())
    return state;
  auto loop = scf::ForOp::create(b, b.i64(0), b.i64(geometry.numChunks()),
                                 b.i64(1), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Place place = getPlaceOfPass(loop.getInductionVar(), number);
  Emitter emitter = createEmitter(place, /*loadedFirst=*/{});
  State before(loop.getRegionIterArgs());
  scf::YieldOp::create(b, reduceChunk(phase, *emitter, place, before));
  return State(loop.getResults());
}

/// Of f64 in two halves.
Value RowKernel::shuffle(Value value, int64_t mask) {
  if (value.getType().isF32())
    return b.shuffleXor(value, mask);
  auto halves = VectorType::get(2, b.getI32Type());
  Value bits = LLVM::BitcastOp::create(b, halves, value);
  Value other = bits;
  for (int64_t half : {0, 1}) {
    Value word = LLVM::ExtractElementOp::create(b, bits, b.i32(half));
    other = LLVM::InsertElementOp::create(b, other, b.shuffleXor(word, mask),
                                          b.i32(half));
  }
  return LLVM::BitcastOp::create(b, value.getType(), other);
}

/// What all threads of the row have, in each of them. Warps meet in an array
/// that each reduction has for itself, so nothing is written there again.
RowKernel::State RowKernel::meet(ReduceRowOp reduction, State state,
                                 unsigned number) {
  for (int64_t mask = std::min(geometry.threadsPerRow, 32u) / 2; mask != 0;
       mask /= 2) {
    State other;
    for (Value value : state)
      other.push_back(shuffle(value, mask));
    state = reduction.emitCombine(b, state, other);
  }
  if (geometry.warpsPerRow() == 1)
    return state;
  Type type = state.front().getType();
  int64_t size = state.size();
  std::string name = ("_shared" + Twine(number)).str();
  LLVM::GlobalOp global =
      createSharedArray(b, function, name, type, geometry.warpsPerRow() * size);
  Value array = LLVM::AddressOfOp::create(b, global);
  emitIf(b, b.equal(b.bitAnd(thread, 31), 0), [&] {
    Value warp = b.shiftRight(thread, 5);
    storeLanes(b, array, size == 1 ? warp : b.mul(warp, size), type, state);
  });
  NVVM::Barrier0Op::create(b);
  State all;
  for (unsigned warp = 0; warp != geometry.warpsPerRow(); ++warp) {
    State other(loadLanes(b, array, b.i32(warp * size), type, size));
    all = all.empty() ? other : reduction.emitCombine(b, all, other);
  }
  return all;
}

void RowKernel::reduce(const RowPhase &phase, unsigned number) {
  ReduceRowOp reduction = phase.reduction;
  State state = meet(reduction, reduceThread(phase, number), number);
  Value result = reduction.emitFinish(b, state);
  found.emplace_back(phase.result, result);
  for (auto &[place, emitter] : kept)
    emitter->set(phase.result, /*row=*/0, /*lane=*/0, result);
}

/// The elements of a chunk; the row's first thread stores what has one value
/// for it with the first.
void RowKernel::store(ElementEmitter &emitter, const Place &place) {
  for (auto [value, output] : llvm::zip(op.getYield().getValues(), outputs)) {
    Type type = value.getType();
    bool byColumn = EpiloguePlan::variesByColumn(type);
    SmallVector<Value> lanes;
    for (unsigned lane = 0; lane != (byColumn ? geometry.lanes : 1); ++lane)
      lanes.push_back(emitter.get(value, /*row=*/0, lane));
    Value stores = place.inRange;
    if (!byColumn && geometry.groups == 1)
      stores = b.equal(place.column, 0);
    else if (!byColumn)
      stores = b.equal(place.column, b.mul(group, geometry.n));
    if (rowInRange)
      stores = stores ? b.both(stores, rowInRange) : rowInRange;
    auto emitStore = [&, &output = output] {
      storeLanes(b, output, getOffset(b, type, row, place.column),
                 cast<RankedTensorType>(type).getElementType(), lanes);
    };
    if (stores)
      emitIf(b, stores, emitStore);
    else
      emitStore();
  }
}

void RowKernel::emitRow() {
  ArrayRef<BlockArgument> loadedFirst;
  if (!phases.empty())
    loadedFirst = phases[0].phase.operands;
  if (geometry.keepsRow())
    for (int64_t chunk = 0; chunk != geometry.numChunks(); ++chunk) {
      Place place = getPlace(b.i64(chunk), chunk == geometry.numChunks() - 1);
      if (packed)
        words.emplace_back(place, loadWords(place));
      else
        kept.emplace_back(place, createEmitter(place, loadedFirst));
    }
  for (auto [number, phase] : llvm::enumerate(phases))
    reduce(phase, number);
  for (int64_t chunk = 0, count = words.size(); chunk != count; ++chunk)
    store(*unpack(chunk), words[chunk].first);
  for (auto &[place, emitter] : kept)
    store(*emitter, place);
  if (geometry.keepsRow())
    return;
  auto loop =
      scf::ForOp::create(b, b.i64(0), b.i64(geometry.numChunks()), b.i64(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Place place = getPlaceOfPass(loop.getInductionVar(), phases.size());
  store(*createEmitter(place, /*loadedFirst=*/{}), place);
}

/// `row` has counted groups.
void RowKernel::enterGroup(Value m) {
  group = b.rem(row, geometry.groups);
  row = b.div(row, geometry.groups);
  if (geometry.sharesWarps()) {
    rowInRange = b.less(row, m);
    row = b.minSigned(row, b.sub(m, 1));
  }
  for (auto [input, argument] :
       llvm::zip(op.getInputs(), op.getBody()->getArguments()))
    pointers[argument] = getGroupPointer(b, pointers[argument], input.getType(),
                                         argument.getType(), row, group);
  for (auto [output, pointer, value] :
       llvm::zip(op.getOutputs(), outputs, op.getYield().getValues()))
    pointer = getGroupPointer(b, pointer, output.getType(), value.getType(),
                              row, group);
}

LLVM::LLVMFuncOp RowKernel::emit() {
  Value own = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  thread = b.rem(own, geometry.threadsPerRow);
  row = b.add(b.mul(b.toI64(block), geometry.rowsOfBlock()),
              b.toI64(b.div(own, geometry.threadsPerRow)));
  Value m = function.getArguments()[op.getNumOperands()];
  if (geometry.groups != 1)
    enterGroup(m);
  // All threads of a warp are in rows or beyond M, or beyond M at the last row.
  if (rowInRange)
    emitRow();
  else
    emitIf(b, b.less(row, m), [&] { emitRow(); });
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

LLVM::LLVMFuncOp tenon::emitRowKernel(gpu::GPUModuleOp module, StringRef name,
                                      EpilogueOp op, ArrayRef<RowPhase> phases,
                                      const RowGeometry &geometry) {
  return RowKernel(module, name, op, phases, geometry).emit();
}
