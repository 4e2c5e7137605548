/* A library with the calls of libamdhip64 that a driver makes, without a GPU: device memory is host memory, and a launch is recorded, not run.
   Built and asked by test_hip_driver.py. Calls, numbers and structures: hip_runtime_api.h of ROCm 6. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_IMAGE = 200, NO_BINARY = 209, NOT_FOUND = 500 };

typedef struct { const unsigned char *image; } Module;
typedef struct { Module *module; char name[128]; } Function;

struct Launch { uint32_t grid[3], block[3], shared; uint64_t stream, bytes; unsigned char arguments[4096]; char name[128]; };
struct Launch mock_last_launch;
int mock_launches, mock_fail_next;
int64_t mock_live_bytes;
static int initialized;

static const char *arch(void) { const char *given = getenv("MOCK_HIP_ARCH"); return given ? given : "gfx942:sramecc+:xnack-"; }
static int is_rdna(void) { return strncmp(arch(), "gfx1", 4) == 0; }
static unsigned machine(void) {
  return !strncmp(arch(), "gfx942", 6) ? 0x4c : !strncmp(arch(), "gfx950", 6) ? 0x4f : !strncmp(arch(), "gfx1100", 7) ? 0x41 : 0;
}

int hipInit(unsigned flags) { initialized = 1; return flags ? INVALID_VALUE : SUCCESS; }
int hipGetDeviceCount(int *count) {
  if (!initialized) return NOT_INITIALIZED;
  *count = getenv("MOCK_HIP_NONE") ? 0 : 1;
  return *count ? SUCCESS : NO_DEVICE;
}
int hipGetDevice(int *device) { *device = 0; return SUCCESS; }
int hipSetDevice(int device) { return device ? INVALID_VALUE : SUCCESS; }
int hipDeviceSynchronize(void) { return SUCCESS; }

int hipGetDevicePropertiesR0600(char *properties, int device) {
  if (device) return INVALID_VALUE;
  memset(properties, 0, 1472);
  strcpy(properties, "A mock of an AMD GPU");
  strcpy(properties + 1160, arch());
  return SUCCESS;
}
int hipDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
    case 5: *value = 2100000; break;
    case 59: *value = 8192; break;
    case 60: *value = 1300000; break;
    case 63: *value = 304; break;
    case 71: *value = 65536; break;
    case 74: *value = 65536; break;
    case 87: *value = is_rdna() ? 32 : 64; break;
    default: return INVALID_VALUE;
  }
  return device ? INVALID_VALUE : SUCCESS;
}

const char *hipGetErrorName(int code) {
  switch (code) {
    case INVALID_VALUE: return "hipErrorInvalidValue";
    case OUT_OF_MEMORY: return "hipErrorOutOfMemory";
    case NO_DEVICE: return "hipErrorNoDevice";
    case INVALID_IMAGE: return "hipErrorInvalidImage";
    case NO_BINARY: return "hipErrorNoBinaryForGpu";
    case NOT_FOUND: return "hipErrorNotFound";
    default: return "hipErrorUnknown";
  }
}
const char *hipGetErrorString(int code) { return code == NO_BINARY ? "no kernel image is available for execution on the device" : "mocked"; }

int hipModuleLoadData(Module **module, const unsigned char *image) {
  if (memcmp(image, "\177ELF", 4)) return INVALID_IMAGE;
  if ((image[48] & 0xff) != machine()) return NO_BINARY;
  *module = malloc(sizeof(Module));
  (*module)->image = image;
  return SUCCESS;
}
int hipModuleGetFunction(Function **function, Module *module, const char *name) {
  char symbol[136];
  size_t length = (size_t)snprintf(symbol, sizeof symbol, "%s.kd", name) + 1;
  const unsigned char *image = module->image;
  uint64_t sections = *(const uint64_t *)(image + 40), end = sections + 64 * *(const uint16_t *)(image + 60);
  for (uint64_t at = 0; at + length <= end; at++)
    if (!memcmp(image + at, symbol, length)) {
      *function = malloc(sizeof(Function));
      (*function)->module = module;
      strcpy((*function)->name, name);
      return SUCCESS;
    }
  return NOT_FOUND;
}
int hipFuncGetAttribute(int *value, int attribute, Function *function) {
  (void)function;
  *value = attribute == 0 ? 1024 : attribute == 4 ? 24 : 0;
  return SUCCESS;
}

int hipModuleLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                          void **parameters, void **extra) {
  struct Launch *l = &mock_last_launch;
  if (mock_fail_next) { int code = mock_fail_next; mock_fail_next = 0; return code; }
  if (parameters || !extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3) return INVALID_VALUE;
  if (!gx || !gy || !gz || bx * by * bz > 1024) return INVALID_VALUE;
  l->grid[0] = gx, l->grid[1] = gy, l->grid[2] = gz, l->block[0] = bx, l->block[1] = by, l->block[2] = bz, l->shared = shared;
  l->stream = (uint64_t)stream, l->bytes = *(size_t *)extra[3];
  if (l->bytes > sizeof l->arguments) return INVALID_VALUE;
  memcpy(l->arguments, extra[1], l->bytes);
  strcpy(l->name, f->name);
  mock_launches++;
  return SUCCESS;
}

int hipMalloc(void **address, size_t size) {
  if (size > (1u << 30)) return OUT_OF_MEMORY;
  size_t *block = malloc(size + 64);
  block[0] = size, mock_live_bytes += (int64_t)size;
  *address = (char *)block + 64;
  return SUCCESS;
}
int hipFree(void *address) {
  size_t *block = (size_t *)((char *)address - 64);
  mock_live_bytes -= (int64_t)block[0];
  free(block);
  return SUCCESS;
}
int hipMemcpy(void *to, const void *from, size_t size, int kind) {
  if (kind != 1 && kind != 2) return INVALID_VALUE;
  memcpy(to, from, size);
  return SUCCESS;
}
