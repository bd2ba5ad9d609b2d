/* Which kind of core an x86 machine has. Model numbers do not count: hypervisors make them up. */
#include "internal.h"

static size_t distance(size_t a, size_t b) {
  return a > b ? a - b : b - a;
}

static bool is_makers(const tw_core* core, const tw_device* device) {
  const size_t length = strlen(core->maker);
  const char* name = device->clusters[0].name;
  return strncmp(name, core->maker, length) == 0 && name[length] == ' ';
}

/* Of the same maker before others, then of the nearest family, then with most features. */
static bool is_nearer(const tw_core* a, const tw_core* b, const tw_device* device) {
  const bool makers = is_makers(a, device);
  if (makers != is_makers(b, device)) return makers;
  const size_t far_a = distance(a->family, device->family);
  const size_t far_b = distance(b->family, device->family);
  if (far_a != far_b) return far_a < far_b;
  return tw_bit_count(a->features) > tw_bit_count(b->features);
}

const tw_core* tw_core_of(const tw_registry* registry, const tw_device* device) {
  const tw_core* nearest = NULL;
  if (device->family == 0) return NULL;
  for (size_t i = 0; i < registry->core_count; ++i) {
    const tw_core* core = &registry->cores[i];
    if ((core->features & ~device->features) != 0) continue;
    if (nearest == NULL || is_nearer(core, nearest, device)) nearest = core;
  }
  return nearest;
}
