#include "gui/app/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>
#include <QXmlStreamReader>
#include <fstream>

#include "gui/export/write_picture.h"
#include "tests/gui/shell_traces.h"
#include "tests/support/input_error.h"
#include "tests/support/run.h"
#include "tests/support/temp_file.h"

namespace moeblaze::gui {
namespace {

using testing::HasSubstr;

Ran gui(const std::vector<std::string>& arguments) { return run(runGui, "moeblaze-gui", arguments); }

/// The number of colours in a picture; an empty picture has one.
size_t colours(const QImage& image) {
  std::set<QRgb> all;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) all.insert(image.pixel(x, y));
  return all.size();
}

std::string textOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Program, ExportsEveryViewAsPngAndSvg) {
  const TempFolder folder;
  for (const std::string view : {"timeline", "peak", "compare"}) {
    for (const std::string ending : {"png", "svg"}) {
      const std::string path = (folder.path() / (view + "." + ending)).string();
      std::vector<std::string> arguments{"--export", path, "--view", view, "--size", "800x400", kPlanSample};
      if (view == "compare") arguments.push_back(kSnapshotSample);
      const Ran ran = gui(arguments);
      ASSERT_EQ(ran.status, 0) << ran.err;
      if (ending == "png") {
        const QImage image(QString::fromStdString(path));
        EXPECT_EQ(image.size(), QSize(800, 400)) << view;
        EXPECT_GT(colours(image), 8u) << view;
      } else {
        const std::string text = textOf(path);
        EXPECT_THAT(text, HasSubstr("<svg")) << view;
        EXPECT_THAT(text, HasSubstr("GiB")) << view;
        QXmlStreamReader xml(QByteArray::fromStdString(text));
        while (!xml.atEnd()) xml.readNext();
        EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
      }
    }
  }
}

TEST(Program, WrongInputIsOneLineAndStatusTwo) {
  const TempFolder folder;
  const std::string png = (folder.path() / "x.png").string();
  const auto expect = [](const std::vector<std::string>& arguments, const char* text) {
    const Ran ran = gui(arguments);
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  };
  expect({"--export", "x.gif", kPlanSample}, "x.gif: is no picture's name; allowed: .png, .svg");
  expect({"--export", png, "--view", "peek", kPlanSample}, "did you mean 'peak'");
  expect({"--export", png, "--view", "compare", kPlanSample}, "takes 2 FILEs, not 1");
  expect({"--export", png, "--size", "800", kPlanSample}, "--size '800' is not WIDTHxHEIGHT");
  expect({"--export", png, "--size", "800x1", kPlanSample}, "from 64 to 16384");
  expect({"--export", png, "nowhere.mbtrace"}, "nowhere.mbtrace");
  expect({"--export", png}, "takes 1 FILE, not 0");
  expect({"--export", png, "--benchmark", kPlanSample}, "contradict");
  expect({"--exprt", png}, "did you mean '--export'");
  expect({"--export", (folder.path() / "none" / "x.png").string(), kPlanSample}, "x.png");
  expect({"--benchmark", "nowhere.mbtrace"}, "nowhere.mbtrace");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing half-written";
}

TEST(Program, VersionAndHelp) {
  EXPECT_THAT(gui({"--version"}).out, HasSubstr("moeblaze-gui 0."));
  const Ran help = gui({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* option : {"--export", "--view", "--size", "--benchmark", "--json"})
    EXPECT_THAT(help.out, HasSubstr(option));
}

TEST(Program, BenchmarkMeasuresFrames) {
  const Ran ran = gui({"--benchmark", kSnapshotSample, "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json record = ran.json()[0];
  EXPECT_EQ(record["events"], 2266);
  EXPECT_GT(record["frames"], 100);
  for (const char* key : {"open_ms", "first_frame_ms", "rss_bytes", "frame_median_ms", "paint_median_ms"})
    EXPECT_GT(record[key], 0) << key;
  EXPECT_GE(record["frame_p99_ms"], record["frame_median_ms"]);
  EXPECT_GE(record["peak_rss_bytes"], record["rss_bytes"]);
  const Ran text = gui({"--benchmark", kPlanSample});
  EXPECT_THAT(text.out, HasSubstr("ms median"));
  EXPECT_THAT(text.out, HasSubstr("34 events"));
}

TEST(WritePicture, PixelRatioMakesMorePixels) {
  const TempFolder folder;
  const std::string path = (folder.path() / "p.png").string();
  writePicture(
      path, {100, 50}, [](QPainter& painter, const QSize& size) { painter.fillRect(QRect(QPoint(), size), Qt::red); },
      2);
  const QImage image(QString::fromStdString(path));
  EXPECT_EQ(image.size(), QSize(200, 100));
  EXPECT_EQ(image.pixelColor(199, 99), QColor(Qt::red));
}

}  // namespace
}  // namespace moeblaze::gui
