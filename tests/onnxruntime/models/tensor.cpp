#include "onnxruntime/models/tensor.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tw::onnxruntime {

namespace {

template <class Number>
void write_number(std::ostream& out, Number number) {
  out.write(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
Number read_number(std::istream& in) {
  Number number{};
  in.read(reinterpret_cast<char*>(&number), sizeof number);
  if (!in) throw std::runtime_error("tensors that end too early");
  return number;
}

template <class Bytes>
void read_bytes(std::istream& in, Bytes& bytes) {
  bytes.resize(read_number<uint64_t>(in));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw std::runtime_error("tensors that end too early");
}

template <class Bytes>
void write_bytes(std::ostream& out, const Bytes& bytes) {
  write_number<uint64_t>(out, bytes.size());
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

void write_tensors(const std::string& path, const std::vector<Tensor>& tensors) {
  std::ofstream out(path, std::ios::binary);
  for (const Tensor& tensor : tensors) {
    write_bytes(out, tensor.name);
    write_number(out, tensor.type);
    write_number<uint64_t>(out, tensor.shape.size());
    for (const int64_t extent : tensor.shape) write_number(out, extent);
    write_bytes(out, tensor.bytes);
  }
  if (!out) throw std::runtime_error("cannot write " + path);
}

std::vector<Tensor> read_tensors(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Tensor> tensors;
  while (in.peek() != std::ifstream::traits_type::eof()) {
    Tensor tensor;
    read_bytes(in, tensor.name);
    tensor.type = read_number<int32_t>(in);
    tensor.shape.resize(read_number<uint64_t>(in));
    for (int64_t& extent : tensor.shape) extent = read_number<int64_t>(in);
    read_bytes(in, tensor.bytes);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace tw::onnxruntime
