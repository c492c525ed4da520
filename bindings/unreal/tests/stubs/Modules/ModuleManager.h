#pragma once

class FDefaultModuleImpl
{
};
#define IMPLEMENT_MODULE(type, name) static type name##Module [[maybe_unused]];
