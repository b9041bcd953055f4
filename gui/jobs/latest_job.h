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

/// One sentence for the user that says what went wrong. It is empty if the work was stopped.
QString errorText(const std::exception_ptr& error);

/// Runs work on a worker thread and hands its result to the GUI thread. Only the last start counts: a new start asks
/// earlier work to stop and drops its result.
class LatestJob {
 public:
  /// Results are dropped once `owner` is destroyed.
  explicit LatestJob(QObject* owner) : owner_(owner) {}
  ~LatestJob() { cancel(); }
  LatestJob(const LatestJob&) = delete;
  LatestJob& operator=(const LatestJob&) = delete;

  /// Runs `work(std::stop_token)` on a worker thread, then `done(value)` or `failed(text)` on this thread.
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

  /// Asks the running work to stop and drops its result.
  void cancel() {
    if (run_) run_->request_stop();
    run_.reset();
  }
  /// Whether the result of the last start is still to come.
  bool isRunning() const { return run_ != nullptr; }

  /// Calls `call` on the GUI thread, unless `owner` is destroyed before.
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
