#include "gui/jobs/latest_job.h"

#include <new>

#include "core/base/interrupt.h"

namespace moeblaze::gui {

QString errorText(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted&) {
    return {};
  } catch (const std::bad_alloc&) {
    return QStringLiteral("This machine's memory does not hold it.");
  } catch (const std::exception& problem) {
    return QString::fromStdString(problem.what());
  }
}

}  // namespace moeblaze::gui
