#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/host/step.h"

namespace moeblaze::host {
namespace {

const Tensor& idsOf(const std::vector<Tensor>& tensors) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [](const Tensor& t) { return t.buffer->meaning == Meaning::expertOfSlot; });
}

/// The place of a token's gate in the tensor's column: that of its slot, or of the expert and token in a dense map.
int64_t gateAt(const Tensor& gates, int64_t token, int64_t choice, int64_t expert) {
  const auto extents = gates.buffer->shape.extents();
  return gates.buffer->layout == Layout::expertTokens ? expert * extents[1] + token : token * extents[1] + choice;
}

template <typename T>
using Row = Eigen::Matrix<T, 1, Eigen::Dynamic>;

template <typename T>
Row<T> softmax(const Row<T>& logits) {
  const Row<T> exponentials = (logits.array() - logits.maxCoeff()).exp();
  return exponentials / exponentials.sum();
}

/// The places of the k largest values, largest first; among equal values the lower place comes first.
template <typename T>
std::vector<int64_t> largest(const Row<T>& values, int64_t k) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](int64_t a, int64_t b) { return values(a) > values(b) || (values(a) == values(b) && a < b); });
  order.resize(k);
  return order;
}

}  // namespace

template <typename T>
void StepRun<T>::route() {
  const MoeConfig& c = plan.config;
  const Matrix<T> logits = load(data(0));
  Row<T> bias = Row<T>::Zero(c.experts);
  if (dataCount() > 1) bias = load(data(1)).col(0).transpose();
  Matrix<T> scores(logits.rows(), logits.cols());
  const Tensor &ids = idsOf(writes), &gates = out(1);
  Matrix<T> gateValues = Matrix<T>::Zero(gates.rows(), 1);
  for (int64_t t = 0; t < c.tokens; ++t) {
    const Row<T> row = logits.row(t);
    Row<T> score = c.router == Router::sigmoid       ? Row<T>(T(1) / (T(1) + (-row.array()).exp()))
                   : c.router == Router::topkSoftmax ? row
                                                     : softmax<T>(row);
    const std::vector<int64_t> chosen = largest<T>(score + bias, c.topK);
    if (c.router == Router::topkSoftmax) {
      Row<T> picked(c.topK);
      for (int64_t j = 0; j < c.topK; ++j) picked(j) = row(chosen[j]);
      picked = softmax<T>(picked);
      score.setZero();
      for (int64_t j = 0; j < c.topK; ++j) score(chosen[j]) = picked(j);
    }
    T sum = 0;
    for (int64_t expert : chosen) sum += score(expert);
    const T scale = c.renormalize && c.router != Router::topkSoftmax ? T(1) / sum : T(1);
    for (int64_t j = 0; j < c.topK; ++j) {
      ids.setInteger(t * c.topK + j, chosen[j]);
      gateValues(gateAt(gates, t, j, chosen[j]), 0) = score(chosen[j]) * scale;
    }
    scores.row(t) = score;
  }
  store(out(0), scores);
  store(gates, gateValues);
}

template <typename T>
void StepRun<T>::routeBackward() {
  const MoeConfig& c = plan.config;
  const Matrix<T> gateGradients = load(data(0)), scores = load(data(2));
  const Tensor& ids = idsOf(reads);
  Matrix<T> gradient = Matrix<T>::Zero(c.tokens, c.experts);
  for (int64_t t = 0; t < c.tokens; ++t) {
    std::vector<int64_t> chosen;
    Row<T> upstream(c.topK), score(c.topK);
    for (int64_t j = 0; j < c.topK; ++j) {
      chosen.push_back(ids.integer(t * c.topK + j));
      upstream(j) = gateGradients(gateAt(data(0), t, j, chosen[j]), 0);
      score(j) = scores(t, chosen[j]);
    }
    if (c.renormalize && c.router != Router::topkSoftmax) {
      const T sum = score.sum();
      upstream = ((upstream.array() - upstream.dot(score) / sum) / sum).matrix().eval();
    }
    switch (c.router) {
      case Router::sigmoid:
        for (int64_t j = 0; j < c.topK; ++j) gradient(t, chosen[j]) = upstream(j) * score(j) * (T(1) - score(j));
        break;
      case Router::softmaxTopk:  // every logit is part of the sum by which the chosen scores are divided
        gradient.row(t) = -upstream.dot(score) * scores.row(t);
        for (int64_t j = 0; j < c.topK; ++j) gradient(t, chosen[j]) += upstream(j) * score(j);
        break;
      case Router::topkSoftmax:
        for (int64_t j = 0; j < c.topK; ++j) gradient(t, chosen[j]) = score(j) * (upstream(j) - upstream.dot(score));
        break;
    }
  }
  store(out(0), gradient);
}

template void StepRun<float>::route();
template void StepRun<double>::route();
template void StepRun<float>::routeBackward();
template void StepRun<double>::routeBackward();

}  // namespace moeblaze::host
