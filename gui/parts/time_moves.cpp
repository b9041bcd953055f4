#include "gui/parts/time_moves.h"

#include <cmath>
#include <cstdlib>

namespace moeblaze::gui {
namespace {

constexpr double kZoomPerNotch = 1.25, kZoomPerKey = 1.5;
constexpr double kMovePerKey = 0.15;  // a fraction of the width
constexpr double kNotch = 120;        // one notch of the wheel in units of QWheelEvent::angleDelta

}  // namespace

std::optional<TimeWindow> windowAfterKey(int key, const TimeScale& scale, double x, const TimeWindow& bounds) {
  switch (key) {
    case Qt::Key_W:
      return scale.zoomed(x, 1 / kZoomPerKey, bounds);
    case Qt::Key_S:
      return scale.zoomed(x, kZoomPerKey, bounds);
    case Qt::Key_A:
    case Qt::Key_Left:
      return scale.panned(-kMovePerKey * scale.width(), bounds);
    case Qt::Key_D:
    case Qt::Key_Right:
      return scale.panned(kMovePerKey * scale.width(), bounds);
    default:
      return std::nullopt;
  }
}

std::optional<TimeWindow> windowAfterWheel(const QPoint& angleDelta, const TimeScale& scale, double x,
                                           const TimeWindow& bounds) {
  if (std::abs(angleDelta.x()) > std::abs(angleDelta.y())) return scale.panned(-angleDelta.x(), bounds);
  if (angleDelta.y() == 0) return std::nullopt;
  return scale.zoomed(x, std::pow(kZoomPerNotch, -angleDelta.y() / kNotch), bounds);
}

}  // namespace moeblaze::gui
