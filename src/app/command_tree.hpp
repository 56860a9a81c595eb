// The commands with their options, texts and examples, as the command-line library holds them.
#pragma once

#include "app/options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}  // namespace CLI

namespace carpool {

// All commands' options; the parsed command tells which one counts.
struct ParsedOptions {
  GlobalOptions global;
  EvaluateOptions evaluate;
  TrainOptions train;
  PredictOptions predict;
  RecommendOptions recommend;
  AssignOptions assign;
  ReportOptions report;
  DemoOptions demo;
  DatasetOptions dataset;
  GpusOptions gpus;
  DoctorOptions doctor;
  TopOptions top;
  RecordOptions record;
  MeasureOptions measure;
};

// Builds the tree; parsing writes into `options`, which must outlive the tree.
void build_command_tree(CLI::App& app, ParsedOptions& options);

// Its part that looks at this machine: gpus, top, record, doctor, measure.
void add_gpu_commands(CLI::App& app, ParsedOptions& options);

}  // namespace carpool
