#pragma once

struct FTickerDelegate
{
    template <class T>
    static FTickerDelegate CreateUObject(T*, bool (T::*)(float))
    {
        return {};
    }
};

struct FTSTicker
{
    struct FDelegateHandle
    {
    };
    static FTSTicker& GetCoreTicker();
    FDelegateHandle AddTicker(const FTickerDelegate&);
    void RemoveTicker(FDelegateHandle);
};
