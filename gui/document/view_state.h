#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "gui/document/document.h"

namespace moeblaze::gui {

/// The parts of a timeline, top to bottom.
enum class Pane : uint8_t { memory, stack, addresses, spans };
inline constexpr size_t kPanes = 4;

/// A track of a document, which need not be the one shown: a plan over a recording.
struct TrackRef {
  std::shared_ptr<const Document> document;
  TrackId track = TrackId::none;
  bool operator==(const TrackRef&) const = default;
};

/// What a view of a document shows; undo steps from one to another.
struct View {
  TimeWindow window;
  std::optional<TimeWindow> range;   ///< selected
  std::optional<int64_t> instantNs;  ///< chosen
  std::optional<size_t> allocation;  ///< selected; index into Trace::allocations
  Attribute categories = Attribute::role;
  std::array<bool, kPanes> panes{true, false, false, true};  ///< visible, by Pane
  TrackId track = TrackId::none;                             ///< whose memory
  TrackRef overlay;                                          ///< drawn as a line over it; TrackId::none: nothing
  bool operator==(const View&) const = default;
};

/// What every view of a window shows and listens to; views never talk to one another. GUI thread only. Setters that
/// change nothing emit nothing.
class ViewState : public QObject {
  Q_OBJECT

 public:
  /// How a change can be undone: by itself, together with others like it that follow at once (a wheel turned, a drag),
  /// or not at all.
  enum class Undo : uint8_t { step, gesture, none };

  explicit ViewState(QObject* parent = nullptr);

  const std::shared_ptr<const Document>& document() const { return document_; }
  /// Shows another document from its start, forgetting what could be undone.
  void setDocument(std::shared_ptr<const Document> document);

  const View& view() const { return view_; }
  void setWindow(TimeWindow window, Undo undo = Undo::step);
  void setRange(std::optional<TimeWindow> range);
  void setInstant(std::optional<int64_t> timeNs);
  /// Index into the document's Trace::allocations.
  void setAllocation(std::optional<size_t> allocation);
  void setCategories(Attribute attribute);
  void setPaneVisible(Pane pane, bool visible);
  /// Shows another memory track of the document.
  void setTrack(TrackId track);
  void setOverlay(TrackRef overlay);

  /// Shows the selected range, or everything when that is shown already or nothing is selected.
  void fit();
  /// Chooses the instant of the peak and brings it into the window.
  void goToPeak();
  /// Chooses the next (+1) or previous (-1) instant at which the track's memory changed.
  void stepEvent(int direction);

  bool canUndo() const { return !past_.empty(); }
  bool canRedo() const { return !future_.empty(); }

 public Q_SLOTS:
  void undo();
  void redo();

 Q_SIGNALS:
  void documentChanged();
  void windowChanged();
  void rangeChanged();
  void instantChanged();
  void allocationChanged();
  void categoriesChanged();
  void panesChanged();
  void tracksChanged();
  /// Any of them; once for every change.
  void changed();
  void historyChanged();

 private:
  void apply(View next, Undo undo);
  void show(const View& next);
  void bringIntoView(int64_t timeNs, View& view) const;

  std::shared_ptr<const Document> document_;
  View view_;
  std::vector<View> past_, future_;
  QElapsedTimer gesture_;  ///< since the last change of a gesture
};

}  // namespace moeblaze::gui
