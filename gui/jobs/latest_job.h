#pragma once

#include <QCoreApplication>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QThreadPool>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace moeblaze::gui {

/// One sentence for the user: what was wrong with the input, or what else went wrong. Empty when the work was stopped.
QString errorText(const std::exception_ptr& error);

/// Runs work on a worker thread and brings what it makes back to the GUI thread. Of several starts only the last one
/// counts: earlier work is asked to stop, and what it still brings is dropped.
class LatestJob {
 public:
  /// Results reach nobody once `owner` is gone.
  explicit LatestJob(QObject* owner) : owner_(owner) {}
  ~LatestJob() { cancel(); }
  LatestJob(const LatestJob&) = delete;
  LatestJob& operator=(const LatestJob&) = delete;

  /// `work(std::stop_token)` makes a value on a worker thread; `done(value)` or `failed(text)` get it on this one.
  template <typename Work, typename Done, typename Failed>
  void start(Work work, Done done, Failed failed) {
    cancel();
    const std::shared_ptr<std::stop_source> run = run_ = std::make_shared<std::stop_source>();
    using Value = decltype(work(std::stop_token()));
    QThreadPool::globalInstance()->start([this, run, owner = owner_, work = std::move(work), done = std::move(done),
                                          failed = std::move(failed)]() mutable {
      auto value = std::make_shared<std::optional<Value>>();
      std::exception_ptr error;
      try {
        *value = work(run->get_token());
      } catch (...) {
        error = std::current_exception();
      }
      post(owner, [this, run, value, error, done = std::move(done), failed = std::move(failed)]() mutable {
        if (run_ != run || run->stop_requested()) return;
        run_.reset();
        if (error)
          failed(errorText(error));
        else
          done(std::move(**value));
      });
    });
  }

  /// Stops what runs; it will not be heard of.
  void cancel() {
    if (run_) run_->request_stop();
    run_.reset();
  }
  bool isRunning() const { return run_ != nullptr; }

  /// Calls `call` on the GUI thread, unless `owner` is gone by then.
  template <typename Call>
  static void post(const QPointer<QObject>& owner, Call call) {
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [owner, call = std::move(call)]() mutable {
          if (owner) call();
        },
        Qt::QueuedConnection);
  }

 private:
  QPointer<QObject> owner_;
  std::shared_ptr<std::stop_source> run_;
};

}  // namespace moeblaze::gui
