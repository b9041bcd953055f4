#pragma once

#include <string>
#include <utility>

#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/systems/system.h"

namespace moeblaze {

/// Assembles a Plan: systems declare buffers and append Steps; lifetimes and the `saved` role are derived at the end.
class PlanBuilder {
 public:
  /// One Step under construction; operands count their whole size as traffic unless told otherwise. All reads come
  /// before writes.
  class StepRef {
   public:
    template <typename... Ids>
    StepRef& reads(Ids... ids) {
      (read(ids, bytesOf(ids)), ...);
      return *this;
    }
    template <typename... Ids>
    StepRef& writes(Ids... ids) {
      (write(ids, bytesOf(ids)), ...);
      return *this;
    }
    /// Reads `id` as `use`; nothing when there is no such buffer.
    StepRef& readsAll(const std::vector<BufferId>& ids);
    StepRef& readsAs(Use use, BufferId id);
    StepRef& writesAs(Use use, BufferId id);
    /// Reads `traffic` bytes of the buffer: part of a weight, or rows once per slot.
    StepRef& read(BufferId id, int64_t traffic, Use use = Use::data);
    StepRef& write(BufferId id, int64_t traffic, Use use = Use::data);
    /// Reads `rows` rows of the buffer, each its last extent wide.
    StepRef& readsRows(BufferId id, int64_t rows, Use use = Use::data);
    /// Each expert's rows [n_e, k] times its [k, n], for the experts of the builder's current range.
    StepRef& grouped(int64_t n, int64_t k);
    /// Each expert's [m, n_e]·[n_e, n].
    StepRef& groupedReduction(int64_t m, int64_t n);
    /// One product [m,k]·[k,n].
    StepRef& dense(int64_t m, int64_t n, int64_t k);
    /// The weight's last extent is the reduced one.
    StepRef& transposed();
    StepRef& launches(int32_t count);
    StepRef& hostStalls(int32_t count);
    StepRef& family(KernelFamily family);

   private:
    friend class PlanBuilder;
    explicit StepRef(PlanBuilder* builder) : builder_(builder) {}
    Step& step() { return builder_->plan_.steps.back(); }
    int64_t bytesOf(BufferId id) const { return builder_->plan_.buffer(id).bytes; }
    PlanBuilder* builder_;
  };

  PlanBuilder(const MoeConfig& config, const Routing& routing, std::string system, PlanOptions options);

  const MoeConfig& config() const { return plan_.config; }
  PlanOptions options() const { return options_; }
  const std::vector<int64_t>& tokensPerExpert() const { return plan_.tokensPerExpert; }
  /// All rows of all experts: L·k, unless the system pads or drops.
  int64_t rows() const { return rows_; }
  /// Rounds each expert's rows up to a multiple of `block`.
  void padRows(int64_t block);
  /// Gives each expert `capacity` rows; what it has beyond is dropped.
  void limitRows(int64_t capacity);
  const Buffer& at(BufferId id) const { return plan_.buffer(id); }
  Buffer& at(BufferId id) { return plan_.buffers[index(id)]; }

  BufferId buffer(std::string name, Role role, DType dtype, Layout layout, Shape shape);
  /// A transient in the config's dtype.
  BufferId transient(std::string name, Layout layout, Shape shape);
  /// A transient between the two MLPs.
  BufferId hidden(std::string name, Layout layout, Shape shape, DType dtype);
  BufferId hidden(std::string name, Layout layout, Shape shape) {
    return hidden(std::move(name), layout, shape, config().dtype);
  }
  /// Exists before the step and is not part of the peak.
  BufferId external(std::string name, Role role, DType dtype, Layout layout, Shape shape);
  BufferId indices(std::string name, Meaning meaning, DType dtype, Shape shape);
  BufferId workspace(std::string name, DType dtype, Shape shape);
  /// Same storage as `base` under another name, of its layout and dtype: an in-place result, or a view of the columns
  /// from `column` on.
  BufferId alias(std::string name, BufferId base, Shape shape, int64_t column = 0);

  StepRef step(std::string name, Op op);
  /// Where a framework lets go of buffers it no longer reads; absent ones are passed over.
  template <typename... Ids>
  void release(std::string name, Ids... ids) {
    StepRef ref = step(std::move(name), Op::release).launches(0);
    ((ids == BufferId::none ? ref : ref.read(ids, 0)), ...);
  }
  /// Steps from here on are backward.
  void beginBackward();
  /// Kernel family of the Steps that follow.
  void useFamily(KernelFamily family) { family_ = family; }
  /// Grouped products that follow cover these experts only.
  void useExperts(int32_t first, int32_t count);
  /// Routed rows of the current expert range.
  int64_t currentRows() const { return currentRows_; }

  /// Derives lifetimes and roles and hands the Plan over; the builder is empty after.
  Plan finish();

 private:
  void setRowsPerExpert(std::vector<int64_t> rows);

  Plan plan_;
  PlanOptions options_;
  Phase phase_ = Phase::forward;
  KernelFamily family_ = KernelFamily::library;
  int32_t firstExpert_ = 0, experts_ = 0;
  int64_t rows_ = 0, currentRows_ = 0;
};

}  // namespace moeblaze
