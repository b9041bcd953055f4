#include "gui/open/samples.h"

#include <QCoreApplication>
#include <QDir>
#include <array>

namespace moeblaze::gui {
namespace {

struct Known {
  const char *name, *title;
};
constexpr std::array<Known, 4> kKnown{{
    {"conf3_moeblaze_simulated.mbtrace", "Simulated: MoEBlaze on the paper's conf3, one layer"},
    {"torch_snapshot_qwen3moe_2layer.pickle", "Measured: PyTorch memory snapshot of two Qwen3-MoE layers, with stacks"},
    {"kineto_qwen3moe_2layer.json.gz", "Measured: PyTorch profiler trace of the same, with kernels"},
    {"conf3_moeblaze_h200.mbtrace",
     "Measured: MoEBlaze on conf3, recorded on an H200; compare it with the simulated one"},
}};

QString folder() {
  const QDir program(QCoreApplication::applicationDirPath());
  for (const QString& path : {program.absoluteFilePath("../share/moeblaze/samples"), QString(MOEBLAZE_SAMPLES)})
    if (QDir(path).exists()) return QDir::cleanPath(path);
  return {};
}

}  // namespace

std::vector<Sample> samples() {
  std::vector<Sample> found;
  const QString path = folder();
  if (path.isEmpty()) return found;
  for (const Known& sample : kKnown)
    if (QDir(path).exists(sample.name))
      found.push_back({QDir(path).filePath(sample.name), QString::fromUtf8(sample.title)});
  return found;
}

QString openFilter() {
  return QStringLiteral(
      "Memory traces (*.mbtrace *.pickle *.pkl *.json *.json.gz *.gz *.sqlite);;MoEBlaze traces (*.mbtrace);;"
      "PyTorch memory snapshots (*.pickle *.pkl *.json);;PyTorch profiler traces (*.json *.json.gz *.gz);;"
      "Nsight Systems exports (*.sqlite);;All files (*)");
}

}  // namespace moeblaze::gui
