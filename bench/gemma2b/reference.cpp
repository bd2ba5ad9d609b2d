#include "gemma2b/reference.h"

#include <cmath>

#include "gemma2b/forward.h"

namespace tw::gemma {

namespace {

using Rows = std::vector<std::vector<double>>;

Rows product(const Rows& rows, const Matrix& matrix) {
  Rows out(rows.size(), std::vector<double>(matrix.n));
  for (size_t column = 0; column < matrix.n; ++column) {
    const std::vector<float> weights = row_of(matrix, column);
    for (size_t i = 0; i < rows.size(); ++i) {
      double sum = 0;
      for (size_t k = 0; k < matrix.k; ++k) sum += rows[i][k] * static_cast<double>(weights[k]);
      out[i][column] = sum;
    }
  }
  return out;
}

Rows normalized(Rows rows, const std::vector<float>& gains) {
  for (std::vector<double>& row : rows) {
    double squares = 0;
    for (const double x : row) squares += x * x;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(row.size()) + kEpsilon);
    for (size_t i = 0; i < row.size(); ++i) row[i] *= factor * static_cast<double>(gains[i]);
  }
  return rows;
}

/// Each head of each row.
void turn(Rows& rows, size_t head) {
  for (size_t position = 0; position < rows.size(); ++position) {
    for (size_t first = 0; first < rows[position].size(); first += head) {
      for (size_t i = 0; i < head / 2; ++i) {
        const double power = static_cast<double>(2 * i) / static_cast<double>(head);
        const double angle = static_cast<double>(position) * std::pow(kRopeBase, -power);
        double &a = rows[position][first + i], &b = rows[position][first + i + head / 2];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    }
  }
}

/// Of the query's head that begins at `first`, over the positions up to `query`.
void attend(const Rows& q, const Rows& k, const Rows& v, size_t query, size_t first,
            std::vector<double>& out) {
  const size_t head = k[0].size();
  std::vector<double> weights;
  double sum = 0;
  for (size_t position = 0; position <= query; ++position) {
    double score = 0;
    for (size_t i = 0; i < head; ++i) score += q[query][first + i] * k[position][i];
    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
    sum += weights.back();
  }
  for (size_t position = 0; position <= query; ++position) {
    for (size_t i = 0; i < head; ++i) {
      out[first + i] += weights[position] / sum * v[position][i];
    }
  }
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

void add(const Rows& from, Rows& to) {
  for (size_t i = 0; i < to.size(); ++i) {
    for (size_t j = 0; j < to[i].size(); ++j) to[i][j] += from[i][j];
  }
}

}  // namespace

std::vector<double> layer_reference(const Sizes& sizes, Scheme scheme,
                                    const std::vector<float>& rows) {
  const Layer layer = layer_of(sizes, scheme, 0);
  Rows x;
  for (size_t at = 0; at < rows.size(); at += sizes.width) {
    x.emplace_back(rows.begin() + static_cast<ptrdiff_t>(at),
                   rows.begin() + static_cast<ptrdiff_t>(at + sizes.width));
  }
  const Rows before = x;
  const Rows normal = normalized(x, gains_of(sizes, kGains));
  Rows q = product(normal, layer.q), k = product(normal, layer.k);
  const Rows v = product(normal, layer.v);
  turn(q, sizes.head);
  turn(k, sizes.head);
  Rows attended(x.size(), std::vector<double>(q[0].size()));
  for (size_t query = 0; query < x.size(); ++query) {
    for (size_t first = 0; first < q[0].size(); first += sizes.head) {
      attend(q, k, v, query, first, attended[query]);
    }
  }
  add(product(attended, layer.post), x);
  const Rows normal_inner = normalized(x, gains_of(sizes, kGains + 1));
  Rows up = product(normal_inner, layer.up);
  const Rows gate = product(normal_inner, layer.gate);
  for (size_t i = 0; i < up.size(); ++i) {
    for (size_t j = 0; j < up[i].size(); ++j) up[i][j] *= gelu(gate[i][j]);
  }
  add(product(up, layer.down), x);
  std::vector<double> added;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < x[i].size(); ++j) added.push_back(x[i][j] - before[i][j]);
  }
  return added;
}

double relative_error(const std::vector<double>& want, const std::vector<double>& got) {
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

}  // namespace tw::gemma
