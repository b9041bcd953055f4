#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>

#include "gui/timeline/frame/timeline_renderer.h"
#include "gui/timeline/paint/timeline_canvas.h"

namespace moeblaze::gui {

/// Shows memory bands, allocations, addresses and spans of a document over one time axis. Frames are drawn on other
/// threads, so that moving and zooming never wait: meanwhile the last frame is shown stretched.
class TimelineView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  /// `state` must outlive the view.
  explicit TimelineView(ViewState* state, QWidget* parent = nullptr);

  /// Whether the present window, size and colours are drawn.
  bool isUpToDate() const { return frame_ && isCurrent_; }

 Q_SIGNALS:
  /// The last requested frame is on the screen.
  void drawn();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  enum class Drag : uint8_t { none, press, pan, range, edge };

  void showDocument();
  void refresh();
  void relayOut();
  void placePanes();
  void accept(const std::shared_ptr<const RenderedFrame>& frame);
  bool isOfDocument() const;
  bool isSmall() const;
  TimelineCanvas canvas() const;
  void paintImages(QPainter& painter) const;
  void click(const QPoint& at);
  void drag(const QPoint& to);
  void hover(const QPoint& at, const QPoint& global);
  void selectTo(int x);
  void toggle(const TimelineLayout::Area& area);

  ViewState* state_;
  TimelineRenderer renderer_;
  TimelineTheme theme_;
  TimelineLayout layout_;
  PaneSizes sizes_;
  std::shared_ptr<const RenderedFrame> frame_;
  uint64_t requested_ = 0;  ///< generation of the last request
  bool isCurrent_ = false;
  mutable View oldView_;  ///< the view of the last frame while its document has been replaced by a newer one

  Drag drag_ = Drag::none;
  QPoint pressed_;
  TimeWindow pressedWindow_;
  size_t edge_ = 0;
  PaneSizes pressedSizes_;
};

}  // namespace moeblaze::gui
