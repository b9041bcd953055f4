#include "simulator/commands/options.h"

#include <fmt/format.h>

namespace moeblaze {

void addGpu(CLI::App& command, std::string& gpu) {
  command.add_option("--gpu", gpu, "a100, h100, h200, b200, or a JSON file")->capture_default_str()->type_name("GPU");
}

void InputOptions::addTo(CLI::App& command) {
  layer.addTo(command);
  addGpu(command, gpu);
  command.add_flag("--with-router", withRouter, "Count the router's own tensors and Steps too");
}

Inputs::Inputs(const InputOptions& options)
    : source(options.layer.load()),
      routing(parseRouting(options.layer.routing, source.layer)),
      machine(loadMachine(options.gpu)) {}

std::string Inputs::describe() const {
  return describeLayer(source) + fmt::format("\nrouting {} (busiest expert {:.2f}× the mean); {} with {} of memory\n",
                                             routing.text(), routing.imbalance(), machine.name,
                                             bytesText(machine.memoryBytes));
}

}  // namespace moeblaze
