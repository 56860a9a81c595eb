#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "estimate/readers/layer_summary.hpp"
#include "estimate/readers/onnx/onnx_file.hpp"
#include "estimate/readers/onnx/wire_reader.hpp"
#include "estimate/readers/weight_header.hpp"
#include "estimate/tests/onnx_for_tests.hpp"

namespace carpool::estimate {
namespace {

std::string safetensors(const std::string& header) {
  std::string out;
  for (std::uint64_t rest = header.size(), byte = 0; byte < 8; ++byte, rest >>= 8U) {
    out += static_cast<char>(rest & 0xFFU);
  }
  return out + header;
}

TEST(WeightHeader, AddsUpTheTensors) {
  const auto totals = parse_safetensors(safetensors(R"({"__metadata__":{"format":"pt"},
                      "a":{"dtype":"BF16","shape":[10,20],"data_offsets":[0,400]},
                      "b":{"dtype":"F32","shape":[],"data_offsets":[400,404]}})") +
                                            "weights",
                                        "w");
  ASSERT_TRUE(totals) << totals.error().message;
  EXPECT_EQ(totals->parameters, 201);
  EXPECT_EQ(totals->bytes, 404);
  EXPECT_EQ(totals->tensors, 2);
  EXPECT_EQ(totals->by_type.at("BF16"), 200);
}

TEST(WeightHeader, RefusesOtherFiles) {
  const auto message = [](const std::string& file) {
    const auto totals = parse_safetensors(file, "w");
    return totals ? std::string("accepted") : totals.error().message;
  };
  EXPECT_NE(message("abc").find("not a safetensors"), std::string::npos);
  const std::string whole = safetensors(R"({"a":{"dtype":"F32","shape":[3]}})");
  EXPECT_EQ(message(whole), "accepted");
  EXPECT_NE(message(whole.substr(0, whole.size() - 1)).find("truncated"), std::string::npos);
  EXPECT_NE(message(std::string(8, '\xff')).find("at most"), std::string::npos);
  EXPECT_NE(message(safetensors("{}")).find("contains no tensor"), std::string::npos);
  EXPECT_NE(message(safetensors("[]")).find("not a JSON object"), std::string::npos);
  EXPECT_NE(message(safetensors(R"({"a":{"dtype":"F32","shape":[1e99]}})")).find("\"a\""),
            std::string::npos);
  EXPECT_NE(message(safetensors(R"({"a":{"dtype":"Q3","shape":[1]}})")).find("\"Q3\""),
            std::string::npos);
  EXPECT_NE(message(safetensors(R"({"a":{"dtype":"F32","shape":[1000000000,1000000000]}})"))
                .find("more than 10^12 elements"),
            std::string::npos);
}

constexpr std::string_view kTorchsummary = R"(
----------------------------------------------------------------
        Layer (type)               Output Shape         Param #
================================================================
            Conv2d-1           [-1, 64, 32, 32]           1,792
       BatchNorm2d-2           [-1, 64, 32, 32]             128
              ReLU-3           [-1, 64, 32, 32]               0
        BasicBlock-4           [-1, 64, 32, 32]               0
            Fancy-5            [-1, 64, 32, 32]              10
            Linear-6                   [-1, 10]             650
================================================================
Total params: 2,580
Trainable params: 2,000
Non-trainable params: 580
----------------------------------------------------------------
Input size (MB): 0.01
)";

TEST(LayerSummary, Torchsummary) {
  const auto read = parse_layer_summary(kTorchsummary, "net.model", {});
  ASSERT_TRUE(read) << read.error().message;
  const auto& list = std::get<LayerList>(read->model.shape);
  ASSERT_EQ(list.layers.size(), 5U);  // without the container
  EXPECT_EQ(list.layers[0].type, "Conv2d");
  EXPECT_EQ(list.layers[0].shape, (std::vector<std::int64_t>{1, 64, 32, 32}));
  EXPECT_EQ(list.layers[3].type, "Fancy");
  EXPECT_EQ(list.parameters, 2580);
  EXPECT_EQ(list.buffers, 512);
  EXPECT_NEAR(static_cast<double>(list.input_elements), 0.01 * 1048576 / 4, 1.0);
  EXPECT_EQ(list.batch, 1);
  EXPECT_FALSE(read->settings.batch);
  EXPECT_EQ(read->notes.size(), 1U);  // on frozen parameters
}

constexpr std::string_view kTorchinfo = R"(
==========================================================================================
Layer (type:depth-idx)                   Input Shape       Output Shape              Param #
==========================================================================================
Net                                      [32, 3, 8, 8]     [32, 10]                  --
├─Sequential: 1-1                        [32, 3, 8, 8]     [32, 16, 8, 8]            --
│    └─Conv2d: 2-1                       [32, 3, 8, 8]     [32, 16, 8, 8]            448
│    └─ReLU (act): 2-2                   [32, 16, 8, 8]    [32, 16, 8, 8]            --
├─Linear: 1-2                            [32, 1024]        [32, 10]                  10,250
==========================================================================================
Total params: 10,698
Input size (MB): 0.02
)";

TEST(LayerSummary, Torchinfo) {
  const auto read = parse_layer_summary(kTorchinfo, "net.txt", {});
  ASSERT_TRUE(read) << read.error().message;
  const auto& list = std::get<LayerList>(read->model.shape);
  ASSERT_EQ(list.layers.size(), 3U);
  EXPECT_EQ(list.layers[0].shape, (std::vector<std::int64_t>{32, 16, 8, 8}));
  EXPECT_EQ(list.layers[1].type, "ReLU");
  EXPECT_EQ(list.layers[2].parameters, 10250);
  EXPECT_EQ(list.batch, 32);
  EXPECT_EQ(read->settings.batch, 32);
}

constexpr std::string_view kPrinted = R"(Net(
  (features): Sequential(
    (0): Conv2d(3, 16, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
    (1): BatchNorm2d(16, eps=1e-05, momentum=0.1)
    (2): ReLU(inplace=True)
    (3): AdaptiveAvgPool2d(output_size=(1, 1))
  )
  (blocks): ModuleList(
    (0-2): 3 x Block(
      (fc): Linear(in_features=16, out_features=16, bias=True)
    )
  )
  (head): Linear(in_features=16, out_features=10, bias=True), 170 params
))";

TEST(LayerSummary, PrintedModules) {
  const auto read = parse_layer_summary(kPrinted, "net.txt", {.resolution = 64});
  ASSERT_TRUE(read) << read.error().message;
  const auto& list = std::get<LayerList>(read->model.shape);
  ASSERT_EQ(list.layers.size(), 8U);
  EXPECT_EQ(list.layers[0].shape, (std::vector<std::int64_t>{1, 16, 32, 32}));
  EXPECT_EQ(list.layers[0].parameters, 432);
  EXPECT_EQ(list.layers[3].shape, (std::vector<std::int64_t>{1, 16, 1, 1}));
  EXPECT_EQ(list.layers[7].shape, (std::vector<std::int64_t>{1, 10}));
  EXPECT_EQ(list.parameters, 432 + 32 + 3 * 272 + 170);
  EXPECT_EQ(list.input_elements, 3 * 64 * 64);
  EXPECT_GT(read->widening, 1.0);
}

TEST(LayerSummary, RefusesOtherText) {
  for (const char* text :
       {"", "hello", "Total params: 3", "f(x)\ng(", ")))", "(0): 999999999 x A("}) {
    const auto read = parse_layer_summary(text, "t", {});
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(read.error().message.starts_with("t is not a layer summary")) << text;
  }
  std::string bomb = "A(\n";
  for (int level = 0; level < 20; ++level) {
    bomb += "(0-999): 1000 x B(\n";
  }
  bomb += "(0): ReLU()\n";
  for (int level = 0; level < 20; ++level) {
    bomb += ")\n";
  }
  EXPECT_NE(parse_layer_summary(bomb, "t", {}).error().message.find("more than"),
            std::string::npos);
}

TEST(WireReader, EndsOnDamage) {
  WireReader cut(std::string_view("\x0a\x05hi", 4));
  EXPECT_FALSE(cut.next());
  EXPECT_TRUE(cut.damaged());
  WireReader endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  EXPECT_FALSE(endless.next());
  EXPECT_TRUE(endless.damaged());
}

TEST(Onnx, ShapesAreInferredWhereTheFileHasNone) {
  const auto read = parse_onnx(small_onnx(-1), "net.onnx", {});
  ASSERT_TRUE(read) << read.error().message;
  const auto& list = std::get<LayerList>(read->model.shape);
  ASSERT_EQ(list.layers.size(), 6U);
  EXPECT_EQ(list.layers[0].type, "Conv2d");
  EXPECT_EQ(list.layers[0].shape, (std::vector<std::int64_t>{1, 16, 16, 16}));
  EXPECT_EQ(list.layers[0].parameters, 432);
  EXPECT_EQ(list.layers[3].shape, (std::vector<std::int64_t>{1, 16, 1, 1}));
  EXPECT_EQ(list.layers[5].type, "Linear");
  EXPECT_EQ(list.layers[5].shape, (std::vector<std::int64_t>{1, 10}));
  EXPECT_EQ(list.parameters, 432 + 32 + 170);
  EXPECT_EQ(list.buffers, 128);
  EXPECT_EQ(list.input_elements, 3 * 32 * 32);
  EXPECT_FALSE(read->settings.batch);
  EXPECT_EQ(read->widening, 1.0);
  EXPECT_EQ(parse_onnx(small_onnx(4), "net.onnx", {})->settings.batch, 4);
}

TEST(Onnx, WithoutShapesItIsRefused) {
  const auto unshaped = parse_onnx(
      onnx_model(wire_bytes(11, onnx_value("x", {1, 3})) + onnx_node("Magic", {"x"}, "y")),
      "net.onnx",
      {});
  ASSERT_FALSE(unshaped);
  EXPECT_NE(unshaped.error().message.find("1 of 1 operators have no shape"), std::string::npos);
  const auto no_input = parse_onnx(onnx_model(onnx_node("Relu", {"x"}, "y")), "net.onnx", {});
  EXPECT_NE(no_input.error().message.find("input of the graph has no shape"), std::string::npos);
}

TEST(Onnx, UnknownOperatorsKeepTheirName) {
  const auto read = parse_onnx(
      onnx_model(wire_bytes(11, onnx_value("x", {2, 3})) + wire_bytes(13, onnx_value("y", {2, 3})) +
                 onnx_node("Magic", {"x"}, "y")),
      "net.onnx",
      {});
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<LayerList>(read->model.shape).layers.front().type, "Magic");
}

TEST(Onnx, EveryTruncatedFileIsRefused) {
  const std::string whole = small_onnx(2);
  ASSERT_TRUE(parse_onnx(whole, "net.onnx", {}));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto read = parse_onnx(std::string_view(whole).substr(0, length), "net.onnx", {});
    ASSERT_FALSE(read) << length;
    EXPECT_TRUE(read.error().message.starts_with("net.onnx")) << read.error().message;
  }
}

}  // namespace
}  // namespace carpool::estimate
