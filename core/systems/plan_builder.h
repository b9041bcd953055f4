#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/systems/system.h"

namespace moeblaze {

/// Assembles a Plan. Systems declare buffers and append Steps; finish() derives the lifetimes and the `saved` role.
class PlanBuilder {
 public:
  /// The Step that was appended last. All of its reads come before its writes. Unless told otherwise, each operand
  /// counts as traffic with all its bytes.
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
    StepRef& readsAll(const std::vector<BufferId>& ids);
    /// Reads `id` as `use`; does nothing when `id` is BufferId::none.
    StepRef& readsAs(Use use, BufferId id);
    StepRef& writesAs(Use use, BufferId id);
    /// Reads the buffer with `traffic` bytes: less than its size for a part of it, more for rows read once per slot.
    StepRef& read(BufferId id, int64_t traffic, Use use = Use::data);
    StepRef& write(BufferId id, int64_t traffic, Use use = Use::data);
    /// Reads `rows` rows of the buffer, each as wide as its last extent.
    StepRef& readsRows(BufferId id, int64_t rows, Use use = Use::data);
    /// A product of each expert's rows [n_e, k] with its matrix [k, n], for the experts in use.
    StepRef& grouped(int64_t n, int64_t k);
    /// A product [m, n_e]·[n_e, n] over each expert's n_e rows, for the experts in use.
    StepRef& groupedReduction(int64_t m, int64_t n);
    /// One product [m, k]·[k, n].
    StepRef& dense(int64_t m, int64_t n, int64_t k);
    /// The product sums over the last extent of the weight.
    StepRef& transposed();
    StepRef& launches(int32_t count);
    StepRef& hostStalls(int32_t count);
    StepRef& family(KernelFamily family);
    /// Marks the Step as the router's.
    StepRef& ofRouter();

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
  /// Rows of all experts: L·k, unless the system pads or drops.
  int64_t rows() const { return rows_; }
  /// Rounds each expert's rows up to a multiple of `block`.
  void padRows(int64_t block);
  /// Gives every expert `capacity` rows and drops its tokens beyond them.
  void limitRows(int64_t capacity);
  const Buffer& at(BufferId id) const { return plan_.buffer(id); }
  Buffer& at(BufferId id) { return plan_.buffers[index(id)]; }

  BufferId buffer(std::string name, Role role, DType dtype, Layout layout, Shape shape);
  /// A transient in the config's dtype.
  BufferId transient(std::string name, Layout layout, Shape shape);
  /// A transient that lies between the first and the last product of an MLP, in the config's dtype unless given.
  BufferId hidden(std::string name, Layout layout, Shape shape, DType dtype);
  BufferId hidden(std::string name, Layout layout, Shape shape) {
    return hidden(std::move(name), layout, shape, config().dtype);
  }
  /// A buffer that exists before the training step and is not part of its peak.
  BufferId external(std::string name, Role role, DType dtype, Layout layout, Shape shape);
  BufferId indices(std::string name, Meaning meaning, DType dtype, Shape shape);
  BufferId workspace(std::string name, DType dtype, Shape shape);
  /// Another name for the storage of `base`, with its layout and dtype: either a result that overwrites it, or a view
  /// of its columns from `column` on.
  BufferId alias(std::string name, BufferId base, Shape shape, int64_t column = 0);

  StepRef step(std::string name, Op op);
  /// Appends a Step at which a framework lets go of `ids`, which it no longer reads; skips those that are none.
  template <typename... Ids>
  void release(std::string name, Ids... ids) {
    StepRef ref = step(std::move(name), Op::release).launches(0);
    ((ids == BufferId::none ? ref : ref.read(ids, 0)), ...);
  }
  /// Makes every Step from here on a backward Step.
  void beginBackward();
  /// Sets the kernel family of the Steps that follow.
  void useFamily(KernelFamily family) { family_ = family; }
  /// Limits the grouped products that follow to these experts.
  void useExperts(int32_t first, int32_t count);
  /// Rows of the experts in use.
  int64_t currentRows() const { return currentRows_; }
  /// Notes what the router's backward keeps, whether or not its Steps are planned.
  void setRouterNeeds(RouterNeeds needs) { plan_.routerNeeds = std::move(needs); }

  /// Derives lifetimes and roles and hands over the Plan; the builder is empty afterwards.
  Plan finish();

 private:
  void setRowsPerExpert(std::vector<int64_t> rows);

  Plan plan_;
  PlanOptions options_;
  Phase phase_ = Phase::forward;
  KernelFamily family_ = KernelFamily::library;
  int32_t firstExpert_ = 0, experts_ = 0;  ///< the experts in use
  int64_t rows_ = 0, currentRows_ = 0;
};

}  // namespace moeblaze
