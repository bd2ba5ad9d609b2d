#include "tuner/job.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tw::tuner {
namespace {

nlohmann::json to_json(const JobMatmul& matmul) {
  const Wanted& wanted = matmul.wanted;
  nlohmann::json mix = nlohmann::json::array();
  for (const Calls& c : wanted.mix) mix.push_back({{"m", c.m}, {"calls", c.calls}});
  return {{"name", matmul.name},
          {"count", matmul.count},
          {"family", wanted.family},
          {"n", wanted.n},
          {"k", wanted.k},
          {"block", wanted.block},
          {"scales", wanted.scales},
          {"hot", wanted.regime == Regime::hot},
          {"threads", wanted.threads},
          {"mix", std::move(mix)}};
}

JobMatmul matmul_of(const nlohmann::json& json) {
  JobMatmul matmul;
  matmul.name = json.at("name").get<std::string>();
  matmul.count = json.at("count").get<double>();
  Wanted& wanted = matmul.wanted;
  wanted.family = json.at("family").get<std::string>();
  wanted.n = json.at("n").get<size_t>();
  wanted.k = json.at("k").get<size_t>();
  wanted.block = json.at("block").get<size_t>();
  wanted.scales = json.at("scales").get<std::string>();
  wanted.threads = json.at("threads").get<size_t>();
  wanted.regime = json.at("hot").get<bool>() ? Regime::hot : Regime::streamed;
  for (const nlohmann::json& c : json.at("mix")) {
    wanted.mix.push_back({c.at("m").get<size_t>(), c.at("calls").get<double>()});
  }
  return matmul;
}

nlohmann::json lines_of(const std::vector<Record>& records) {
  nlohmann::json lines = nlohmann::json::array();
  for (const Record& record : records) lines.push_back(to_line(record));
  return lines;
}

std::vector<Record> records_of(const nlohmann::json& lines) {
  std::vector<Record> records;
  for (const nlohmann::json& line : lines) records.push_back(from_line(line.get<std::string>()));
  return records;
}

}  // namespace

std::string to_text(const Job& job) {
  nlohmann::json json{{"budget", job.budget},
                      {"exhaustive", job.exhaustive},
                      {"hot", job.hot},
                      {"cpu", job.cpu},
                      {"patience", job.patience},
                      {"matmuls", nlohmann::json::array()},
                      {"known", lines_of(job.known)},
                      {"shipped", lines_of(job.shipped)}};
  for (const JobMatmul& matmul : job.matmuls) json["matmuls"].push_back(to_json(matmul));
  return json.dump();
}

Job job_from_text(const std::string& text) {
  Job job;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    job.budget = json.at("budget").get<double>();
    job.exhaustive = json.at("exhaustive").get<bool>();
    job.hot = json.at("hot").get<bool>();
    job.cpu = json.at("cpu").get<int>();
    job.patience = json.at("patience").get<double>();
    for (const nlohmann::json& matmul : json.at("matmuls")) {
      job.matmuls.push_back(matmul_of(matmul));
    }
    job.known = records_of(json.at("known"));
    job.shipped = records_of(json.at("shipped"));
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("job: {}", error.what()));
  } catch (const RecordError& error) {
    throw std::runtime_error(fmt::format("job: record: {}", error.what));
  }
  return job;
}

}  // namespace tw::tuner
