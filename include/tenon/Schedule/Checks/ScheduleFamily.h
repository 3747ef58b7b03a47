//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What differs between families of kernels in what a schedule needs and in how
// one is chosen. A family is a folder beside MmaSync and Wgmma, whose object is
// registered (RegisterFamilies.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_SCHEDULEFAMILY_H
#define TENON_SCHEDULE_CHECKS_SCHEDULEFAMILY_H

#include "tenon/Remarks/Reason.h"
#include "tenon/Schedule/Checks/Schedule.h"

#include <optional>

namespace mlir::tenon {

struct LayerProblem;
struct Prediction;
struct ScheduleChoice;

/// A schedule that is worth measuring: those of low rank first.
struct RankedSchedule {
  ScheduleAttr schedule;
  double rank;
};

/// Whether a layer is tiled, and why.
struct Verdict {
  bool isTiled;
  Reason reason;
};

/// A family of kernels: those that are built on one matrix instruction.
class ScheduleFamily {
public:
  /// What is true of all of its kernels.
  struct Traits {
    KernelFamily family;
    /// Whether f32 is rounded to tf32 as it is copied to shared memory; if not,
    /// an op does it.
    bool roundsTf32;
    /// With reduction = resident: whether a dynamic M can be, whether products
    /// are direct alone, and whether kernels were measured. Those that were not
    /// are there for whoever asks.
    bool isResidentDynamic, isResidentDirect, isResidentMeasured;
  };
  const Traits traits;

  explicit ScheduleFamily(const Traits &traits) : traits(traits) {}
  virtual ~ScheduleFamily() = default;

  /// The family of that name, or of a schedule.
  static const ScheduleFamily &get(KernelFamily family);
  static const ScheduleFamily &of(ScheduleAttr schedule) {
    return get(schedule.getFamily());
  }
  /// All of them, the best ones first.
  static ArrayRef<const ScheduleFamily *> getAll();
  /// Says which there are, before anything asks.
  static void setAll(ArrayRef<const ScheduleFamily *> families);

  // Threads and bytes, of which Schedule.h has the sums.
  virtual int64_t getBlockThreads(ScheduleAttr schedule) const = 0;
  virtual int64_t getBarrierBytes(ScheduleAttr schedule) const { return 0; }
  virtual int64_t getEpilogueBytes(ScheduleAttr schedule) const = 0;
  /// With reduction = resident: columns of which blocks exchange states, those
  /// of a kernel that stands in for this one included.
  virtual int64_t getExchangedColumns(ScheduleAttr schedule) const = 0;

  // What cannot be, in a sentence; "" if it can.
  /// On any target.
  virtual std::string findProblem(ScheduleAttr schedule,
                                  Type elementType) const = 0;
  /// On `target`, of a schedule that some target may run.
  virtual std::string findProblem(ScheduleAttr schedule,
                                  const TargetSpec &target) const = 0;
  /// Of inputs with this K.
  virtual std::string findExtentProblem(Type elementType, int64_t k) const {
    return "";
  }
  /// Of x and w that lie so, where `method` multiplies them directly.
  virtual std::string findLayoutProblem(ScheduleAttr schedule, Type elementType,
                                        OperandLayout layout,
                                        const ProductExtents &extents) const {
    return "";
  }
  /// Of reduction = resident for a layer, which all families may have.
  virtual std::string findResidentProblem(FusedLinearOp op,
                                          ScheduleAttr schedule) const = 0;
  /// Of the moments that a kernel gives or exchanges.
  virtual std::string findMomentsProblem(FusedLinearOp op,
                                         ScheduleAttr schedule) const {
    return "";
  }
  /// Whether a tile has room for the layer's operands and results.
  virtual bool hasRoom(FusedLinearOp op, ScheduleAttr schedule) const {
    return true;
  }
  virtual bool runsOn(const TargetSpec &target) const = 0;
  virtual bool multiplies(ProductMethod method) const { return true; }
  /// The same on a target that it runs on.
  virtual bool multiplies(ProductMethod method,
                          const TargetSpec &target) const {
    return multiplies(method);
  }

  // The choice.
  /// Whether a kernel computes a layer as it should: without spills.
  virtual bool canCompute(const LayerProblem &problem,
                          ScheduleAttr schedule) const {
    return true;
  }
  virtual Prediction predict(const LayerProblem &problem, ScheduleAttr schedule,
                             const TargetSpec &target) const = 0;
  /// The best schedule that runs on all targets; nothing if none does.
  virtual std::optional<ScheduleChoice>
  choose(const LayerProblem &problem,
         ArrayRef<const TargetSpec *> targets) const = 0;
  /// Schedules that all targets can take and that measuring may find to be the
  /// best. Of the same rank the first comes first.
  virtual SmallVector<RankedSchedule>
  rank(const LayerProblem &problem,
       ArrayRef<const TargetSpec *> targets) const = 0;
  virtual Verdict weigh(const LayerProblem &problem,
                        const ScheduleChoice &choice,
                        ArrayRef<const TargetSpec *> targets) const = 0;
  /// What its time may be of the library's where schedules of several families
  /// and reductions are compared: less is known of some kernels than of others.
  virtual double getShareLimit(const LayerProblem &problem,
                               const ScheduleChoice &choice) const {
    return 1;
  }
};

/// What all families ask: an element type that they multiply, a row of K that
/// swizzle holds, a raster that some GPU can walk through, two weights at most.
std::string findShapeProblem(ScheduleAttr schedule, Type elementType);

/// Whether the stages fit a block's shared memory.
std::string findSharedProblem(ScheduleAttr schedule, const TargetSpec &target);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_SCHEDULEFAMILY_H
