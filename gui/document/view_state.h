#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "gui/document/document.h"

namespace moeblaze::gui {

/// The panes of a timeline from top to bottom.
enum class Pane : uint8_t { memory, stack, addresses, spans };
inline constexpr size_t kPanes = 4;

/// A track of a document, which need not be the one shown: for instance a plan drawn over a recording.
struct TrackRef {
  std::shared_ptr<const Document> document;
  TrackId track = TrackId::none;
  bool operator==(const TrackRef&) const = default;
};

/// What a view shows of a document. Undo goes from one View to another.
struct View {
  TimeWindow window;
  std::optional<TimeWindow> range;   ///< the selected time range
  std::optional<int64_t> instantNs;  ///< the chosen instant
  std::optional<size_t> allocation;  ///< the selected allocation: an index into Trace::allocations
  Attribute categories = Attribute::role;
  std::array<bool, kPanes> panes{true, false, false, true};  ///< which panes are visible, by Pane
  TrackId track = TrackId::none;                             ///< the track whose memory is shown
  /// Drawn as a line over the memory; TrackId::none draws nothing.
  TrackRef overlay;
  bool operator==(const View&) const = default;
};

/// The state that all views of a timeline share and listen to; views never talk to one another. For the GUI thread
/// only. Setters emit signals only if something changes.
class ViewState : public QObject {
  Q_OBJECT

 public:
  /// How a change is undone: as a step of its own, together with the similar changes that follow at once, such as turns
  /// of the wheel or a drag, or not at all.
  enum class Undo : uint8_t { step, gesture, none };

  explicit ViewState(QObject* parent = nullptr);

  const std::shared_ptr<const Document>& document() const { return document_; }
  /// Shows all of a document and forgets the undo history.
  void setDocument(std::shared_ptr<const Document> document);

  const View& view() const { return view_; }
  /// Shows a time window, moved and shrunk into the bounds of the document.
  void setWindow(TimeWindow window, Undo undo = Undo::step);
  /// Selects a time range, or none.
  void setRange(std::optional<TimeWindow> range);
  /// Chooses an instant, or none.
  void setInstant(std::optional<int64_t> timeNs);
  /// Selects an allocation by its index in Trace::allocations, or none.
  void setAllocation(std::optional<size_t> allocation);
  /// Chooses what the bands tell apart.
  void setCategories(Attribute attribute);
  void setPaneVisible(Pane pane, bool visible);
  /// Shows another memory track of the same document.
  void setTrack(TrackId track);
  /// Chooses the track that is drawn as a line over the memory.
  void setOverlay(TrackRef overlay);

  /// Shows the selected range. Shows everything if the range is shown already or nothing is selected.
  void fit();
  /// Chooses the instant of the peak and moves the window there if needed.
  void goToPeak();
  /// Chooses the next (+1) or the previous (-1) instant at which the memory of the track changed.
  void stepEvent(int direction);

  bool canUndo() const { return !past_.empty(); }
  bool canRedo() const { return !future_.empty(); }

 public Q_SLOTS:
  /// Go back to the view before, and forward again. They do nothing when there is none.
  void undo();
  void redo();

 Q_SIGNALS:
  /// Each of these tells of one kind of change; tracksChanged() tells of the track and of the overlay.
  void documentChanged();
  void windowChanged();
  void rangeChanged();
  void instantChanged();
  void allocationChanged();
  void categoriesChanged();
  void panesChanged();
  void tracksChanged();
  /// Emitted once for every change, after the signals above.
  void changed();
  /// What can be undone or redone changed.
  void historyChanged();

 private:
  void apply(const View& next, Undo undo);
  void show(const View& next);
  void bringIntoView(int64_t timeNs, View& view) const;

  std::shared_ptr<const Document> document_;
  View view_;
  std::vector<View> past_, future_;
  QElapsedTimer gesture_;  ///< time since the last change of the present gesture
};

}  // namespace moeblaze::gui
