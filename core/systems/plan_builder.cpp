#include "core/systems/plan_builder.h"

#include <algorithm>
#include <numeric>

namespace moeblaze {

using StepRef = PlanBuilder::StepRef;

StepRef& StepRef::read(BufferId id, int64_t traffic, Use use) {
  assert(step().writesBegin == step().operandsEnd && "reads come before writes");
  builder_->plan_.operands.push_back({id, use});
  step().writesBegin = ++step().operandsEnd;
  step().bytesRead += traffic;
  return *this;
}

StepRef& StepRef::write(BufferId id, int64_t traffic, Use use) {
  builder_->plan_.operands.push_back({id, use});
  ++step().operandsEnd;
  step().bytesWritten += traffic;
  return *this;
}

StepRef& StepRef::readsAll(const std::vector<BufferId>& ids) {
  for (BufferId id : ids) reads(id);
  return *this;
}

StepRef& StepRef::readsAs(Use use, BufferId id) { return id == BufferId::none ? *this : read(id, bytesOf(id), use); }

StepRef& StepRef::writesAs(Use use, BufferId id) { return id == BufferId::none ? *this : write(id, bytesOf(id), use); }

StepRef& StepRef::readsRows(BufferId id, int64_t rows, Use use) {
  const Buffer& buffer = builder_->plan_.buffer(id);
  return read(id, rows * buffer.shape.last() * sizeOf(buffer.dtype), use);
}

StepRef& StepRef::grouped(int64_t n, int64_t k) {
  step().gemm = {Ragged::rows, 0, n, k, builder_->firstExpert_, builder_->experts_};
  step().flops = 2.0 * static_cast<double>(builder_->currentRows_) * static_cast<double>(n) * static_cast<double>(k);
  return *this;
}

StepRef& StepRef::groupedReduction(int64_t m, int64_t n) {
  step().gemm = {Ragged::reduction, m, n, 0, builder_->firstExpert_, builder_->experts_};
  step().flops = 2.0 * static_cast<double>(builder_->currentRows_) * static_cast<double>(m) * static_cast<double>(n);
  return *this;
}

StepRef& StepRef::dense(int64_t m, int64_t n, int64_t k) {
  step().gemm = {Ragged::none, m, n, k, 0, 0};
  step().flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return *this;
}

StepRef& StepRef::transposed() {
  step().gemm.transposed = true;
  return *this;
}

StepRef& StepRef::launches(int32_t count) {
  step().launches = count;
  return *this;
}

StepRef& StepRef::hostStalls(int32_t count) {
  step().hostStalls = count;
  return *this;
}

StepRef& StepRef::family(KernelFamily family) {
  step().family = family;
  return *this;
}

StepRef& StepRef::ofRouter() {
  step().router = true;
  return *this;
}

PlanBuilder::PlanBuilder(const MoeConfig& config, const Routing& routing, std::string system, PlanOptions options)
    : options_(options) {
  plan_.config = config;
  plan_.system = std::move(system);
  plan_.routing = routing.text();
  plan_.tokensPerExpert.assign(routing.tokensPerExpert().begin(), routing.tokensPerExpert().end());
  plan_.buffers.reserve(32);
  plan_.steps.reserve(24);
  plan_.operands.reserve(128);
  setRowsPerExpert(plan_.tokensPerExpert);
}

void PlanBuilder::padRows(int64_t block) {
  plan_.rowBlock = block;
  std::vector<int64_t> rows = plan_.tokensPerExpert;
  for (int64_t& count : rows) count = (count + block - 1) / block * block;
  setRowsPerExpert(std::move(rows));
}

void PlanBuilder::limitRows(int64_t capacity) {
  plan_.expertCapacity = capacity;
  setRowsPerExpert(std::vector<int64_t>(plan_.config.experts, capacity));
}

void PlanBuilder::setRowsPerExpert(std::vector<int64_t> rows) {
  plan_.rowsPerExpert = std::move(rows);
  useExperts(0, static_cast<int32_t>(plan_.config.experts));
  rows_ = currentRows_;
}

BufferId PlanBuilder::buffer(std::string name, Role role, DType dtype, Layout layout, Shape shape) {
  Buffer& buffer = plan_.buffers.emplace_back();
  buffer.name = std::move(name);
  buffer.role = role;
  buffer.dtype = dtype;
  buffer.layout = layout;
  buffer.shape = shape;
  buffer.bytes = shape.count() * sizeOf(dtype);
  return static_cast<BufferId>(plan_.buffers.size() - 1);
}

BufferId PlanBuilder::transient(std::string name, Layout layout, Shape shape) {
  return buffer(std::move(name), Role::transient, config().dtype, layout, shape);
}

BufferId PlanBuilder::hidden(std::string name, Layout layout, Shape shape, DType dtype) {
  const BufferId id = buffer(std::move(name), Role::transient, dtype, layout, shape);
  at(id).intermediate = true;
  return id;
}

BufferId PlanBuilder::external(std::string name, Role role, DType dtype, Layout layout, Shape shape) {
  const BufferId id = buffer(std::move(name), role, dtype, layout, shape);
  at(id).external = true;
  return id;
}

BufferId PlanBuilder::indices(std::string name, Meaning meaning, DType dtype, Shape shape) {
  const BufferId id = buffer(std::move(name), Role::index, dtype, Layout::flat, shape);
  at(id).meaning = meaning;
  return id;
}

BufferId PlanBuilder::workspace(std::string name, DType dtype, Shape shape) {
  return buffer(std::move(name), Role::workspace, dtype, Layout::flat, shape);
}

BufferId PlanBuilder::alias(std::string name, BufferId base, Shape shape, int64_t column) {
  const BufferId id = buffer(std::move(name), Role::transient, at(base).dtype, at(base).layout, shape);
  at(id).aliasOf = base;
  at(id).aliasColumn = column;
  at(id).intermediate = at(base).intermediate;
  return id;
}

PlanBuilder::StepRef PlanBuilder::step(std::string name, Op op) {
  Step& step = plan_.steps.emplace_back();
  step.name = std::move(name);
  step.op = op;
  step.phase = phase_;
  step.family = family_;
  step.gemm.firstExpert = firstExpert_;
  step.gemm.experts = experts_;
  step.operandsBegin = step.writesBegin = step.operandsEnd = static_cast<int32_t>(plan_.operands.size());
  return StepRef(this);
}

void PlanBuilder::beginBackward() {
  phase_ = Phase::backward;
  plan_.forwardSteps = static_cast<int32_t>(plan_.steps.size());
}

void PlanBuilder::useExperts(int32_t first, int32_t count) {
  firstExpert_ = first;
  experts_ = count;
  const auto begin = plan_.rowsPerExpert.begin() + first;
  currentRows_ = std::accumulate(begin, begin + count, int64_t{0});
}

Plan PlanBuilder::finish() {
  deriveLifetimes(plan_);
  for (Buffer& buffer : plan_.buffers)
    if (buffer.role == Role::transient && plan_.isHeldForBackward(buffer)) buffer.role = Role::saved;
  return std::move(plan_);
}

}  // namespace moeblaze
