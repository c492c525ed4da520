/// Just enough of Unreal's names to let a compiler read the plugin's sources. Nothing here works like Unreal; it finds typing errors and
/// wrong uses of the client, no more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using int32 = std::int32_t;
using TCHAR = wchar_t;
#define TEXT(text) L##text

class FString
{
public:
    FString() = default;
    FString(const TCHAR* text) : text_(text) {}
    const TCHAR* operator*() const { return text_.c_str(); }
    bool IsEmpty() const { return text_.empty(); }

private:
    std::wstring text_;
};

const char* TCHAR_TO_UTF8(const TCHAR* text);
const TCHAR* UTF8_TO_TCHAR(const char* text);

template <class T>
class TArray
{
public:
    void Add(T item) { items_.push_back(std::move(item)); }

private:
    std::vector<T> items_;
};

template <class T>
class TSharedRef
{
public:
    T& operator*() const { return *value_; }
    std::shared_ptr<T> value_ = {};
};

template <class T>
class TSharedPtr
{
public:
    TSharedPtr() = default;
    TSharedPtr(TSharedRef<T> value) : value_(value.value_) {}
    T* operator->() const { return value_.get(); }
    void Reset() { value_.reset(); }

private:
    std::shared_ptr<T> value_;
};

template <class T>
TSharedRef<T> MakeShared()
{
    return {std::make_shared<T>()};
}

#define OPENAPPLEMODELS_API
#define USTRUCT(...)
#define UCLASS(...)
#define UPROPERTY(...)
#define UFUNCTION(...)
#define GENERATED_BODY()
#define DEFINE_LOG_CATEGORY_STATIC(name, ...)
#define UE_LOG(category, level, ...) (void)sizeof(std::make_tuple(__VA_ARGS__))

#define OAM_STUB_DELEGATE(name, ...) \
    struct name \
    { \
        void Broadcast(__VA_ARGS__) {} \
    }
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(name, t1, n1) OAM_STUB_DELEGATE(name, t1)
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(name, t1, n1, t2, n2) OAM_STUB_DELEGATE(name, t1, t2)
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_ThreeParams(name, t1, n1, t2, n2, t3, n3) OAM_STUB_DELEGATE(name, t1, t2, t3)
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_FourParams(name, t1, n1, t2, n2, t3, n3, t4, n4) OAM_STUB_DELEGATE(name, t1, t2, t3, t4)
