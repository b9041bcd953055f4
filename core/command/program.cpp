#include "core/command/program.h"

#include <fmt/format.h>

#include <charconv>
#include <new>
#include <vector>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "version.h"

namespace moeblaze {
namespace {

/// The innermost subcommand that the user named. Its options are the ones that a misspelled option may have meant.
const CLI::App& deepest(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.front());
}

/// One line about a command line that cannot be parsed. `firstUnknown` is the first argument that no option takes.
std::string explain(const CLI::App& app, const CLI::ParseError& error, const std::string& firstUnknown) {
  std::string line = error.what();
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::vector<std::string> names;
  for (const CLI::Option* option : deepest(app).get_options())
    for (const std::string& longName : option->get_lnames()) names.push_back("--" + longName);
  for (const CLI::App* command : deepest(app).get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  if (!firstUnknown.empty())
    line = "argument " + quote(firstUnknown) + " is unknown" + didYouMean(firstUnknown, candidates);
  return line;
}

}  // namespace

int runProgram(CLI::App& app, int argc, const char* const* argv, std::ostream& out, std::ostream& err,
               const std::function<void()>& body) {
  const auto fail = [&](const std::string& what, int status) {
    err << app.get_name() << ": " << what << "\n";
    return status;
  };
  try {
    app.parse(argc, argv);
    body();
    if (!out.flush()) return fail("the output could not be written", kExitWrongInput);
    return 0;
  } catch (const CLI::Success& request) {
    return app.exit(request, out, err);
  } catch (const CLI::ParseError& error) {
    const auto unknown = app.remaining(true);
    const bool extras =
        dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error);
    return fail(explain(app, error, extras && !unknown.empty() ? unknown.front() : ""), kExitWrongInput);
  } catch (const InputError& error) {
    return fail(error.what(), kExitWrongInput);
  } catch (const Interrupted& stop) {
    out.flush();
    return fail(stop.what(), kExitInterrupted);
  } catch (const DeviceError& error) {
    return fail(error.what(), kExitMissingDevice);
  } catch (const std::bad_alloc&) {  // it comes before std::exception, since its text says what to do
    return fail("this machine's memory does not hold the request; use fewer tokens or balanced routing",
                kExitMissingDevice);
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what(), kExitInternal);
  }
}

void addVersion(CLI::App& app) {
  app.set_version_flag("--version",
                       fmt::format("{} {}\nCUDA toolkit: {}\nCUPTI: {}\nQt: {}", app.get_name(), kVersion, kCudaFound,
                                   kCuptiFound, kQtFound),
                       "Print the version and what this build found");
}

int64_t parseCount(const std::string& option, const std::string& text, int64_t low, int64_t high) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    throw InputError(fmt::format("{} {} is not a whole number from {} to {}", option, quote(text), low, high));
  return value;
}

}  // namespace moeblaze
